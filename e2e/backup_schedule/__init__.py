"""Backups by schedule, annotation and OpenBaoBackup; crashes of the operator."""
