"""The verbs of `kubectl bao` on a real node."""
