"""Small operators on the runtime, each complete and each run by the tests."""
