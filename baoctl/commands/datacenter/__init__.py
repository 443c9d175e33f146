"""`baoctl datacenter`: the status of a datacenter as a tree, its watch, and `redeploy`.

Called by `baoctl.cli`.
"""
