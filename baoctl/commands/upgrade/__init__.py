"""`baoctl upgrade plan`: reads a cluster, and prints the checks and the steps of its upgrade.

Called by `baoctl.cli`.
"""
