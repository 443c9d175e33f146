"""Snapshots in Google Cloud Storage and Azure Blob Storage (emulators)."""
