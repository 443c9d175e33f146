"""The benchmark's pure parts."""
