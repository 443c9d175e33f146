"""Crashes of the operator before, at and after writes of an upgrade, which the next completes."""
