"""Rotation of the key of a static seal, until the old key is no longer needed."""
