"""A support archive of one cluster, without secrets.

Called by baoctl.verbs.bundle.
"""
