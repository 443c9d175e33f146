"""The operator's own certificates: renewed, and their authority replaced, under running servers."""
