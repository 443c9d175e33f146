"""Exposure through a Gateway. Its API may be absent, installed later, and removed."""
