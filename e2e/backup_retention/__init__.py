"""Scenario: which snapshots go, and that nothing else ever does."""
