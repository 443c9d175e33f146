"""A list of namespaces: each by itself, and none beside them."""
