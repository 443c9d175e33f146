"""Crashes of the operator before, at and after the writes of an upgrade; the next one ends it."""
