"""Data volumes that are expanded, cannot be expanded, or are lost, under load."""
