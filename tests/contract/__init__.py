"""The behavior of every API server: the same tests for the fake and for a real one."""
