"""Operators of two shards: who writes for what, on failure and when the number changes."""
