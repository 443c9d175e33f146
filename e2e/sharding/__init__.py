"""Operators of two shards: each writes only for its clusters, also on failures and changes."""
