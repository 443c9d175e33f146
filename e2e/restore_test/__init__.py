"""Scenario: snapshots are tested by restoring them into ephemeral servers."""
