"""Clusters brought to another version by a second set of servers that takes over."""
