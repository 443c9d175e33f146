"""Tests of the examples that need no server; those with a server are in tests/integration."""
