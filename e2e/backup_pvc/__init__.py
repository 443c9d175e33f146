"""Snapshots on a volume, taken by jobs that a strict namespace admits."""
