"""Retention deletes old snapshots, and nothing else."""
