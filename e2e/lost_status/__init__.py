"""A cluster whose status somebody loses, edits, or puts back from a month ago, under a client."""
