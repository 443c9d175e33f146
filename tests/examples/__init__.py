"""The examples, as far as they need no server; with one they run in tests/integration."""
