"""Sessions of a user with the servers of one cluster.

Called by baoctl.verbs.login.
"""
