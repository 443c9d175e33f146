"""What the servers of one cluster do in a second.

Called by baoctl.verbs.bench.
"""
