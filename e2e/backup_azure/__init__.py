"""Snapshots in Azure Blob Storage (emulator)."""
