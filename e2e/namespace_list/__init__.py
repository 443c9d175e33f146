"""A list of namespaces: each is watched separately, and no other namespace is."""
