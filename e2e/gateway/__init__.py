"""Exposure through a Gateway, whose API may be missing, installed later, and removed."""
