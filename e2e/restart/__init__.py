"""Requested restarts, and deleted pods."""
