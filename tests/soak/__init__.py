"""The soak's pure parts."""
