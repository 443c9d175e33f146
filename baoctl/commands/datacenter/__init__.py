"""`baoctl datacenter`: `status`, `get` and `redeploy`.

Called by baoctl.verbs.datacenter.
"""
