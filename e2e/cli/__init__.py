"""Verbs of `kubectl bao` on a real cluster."""
