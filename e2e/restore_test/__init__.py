"""Scenario: snapshots are proven by restoring them into servers that are thrown away."""
