"""Clusters brought to another version, one server at a time, while a client writes."""
