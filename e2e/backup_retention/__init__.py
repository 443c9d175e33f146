"""Scenario: retention deletes old snapshots, and nothing else."""
