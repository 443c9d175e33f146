"""Measures the requests per second of the servers of one cluster.

Called by baoctl.verbs.bench.
"""
