"""The key of a static seal is rotated under running servers, and the old one is needed no more."""
