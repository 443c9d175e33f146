"""`baoctl upgrade plan`: prints the preflight checks and the steps of an upgrade.

Called by baoctl.verbs.upgrade.
"""
