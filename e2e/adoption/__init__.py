"""The status of a cluster is deleted, changed, or restored from an old backup, under load."""
