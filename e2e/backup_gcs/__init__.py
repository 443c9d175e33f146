"""Snapshots in Google Cloud Storage (emulator)."""
