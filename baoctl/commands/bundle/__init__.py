"""A support archive of one cluster, without what is secret in it.

Called by baoctl.verbs.bundle.
"""
