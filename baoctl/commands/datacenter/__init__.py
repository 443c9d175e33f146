"""`baoctl datacenter`: the status of a datacenter as a tree, its watch, `get` and `redeploy`.

Called by `baoctl.cli`.
"""
