"""Snapshots in Google Cloud Storage, as far as an emulator plays it."""
