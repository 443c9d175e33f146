"""Scaling up and down, under load."""
