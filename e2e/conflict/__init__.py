"""Name conflicts with objects of other owners, and invalid specs."""
