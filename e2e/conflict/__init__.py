"""Name conflicts with foreign objects, and invalid specs."""
