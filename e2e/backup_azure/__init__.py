"""Snapshots in Azure Blob Storage, as far as an emulator plays it."""
