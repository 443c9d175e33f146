"""The verbs of `baoctl` for clusters, datacenters and manifests: one module or package each.

May use everything below baoctl. Called by `baoctl.verbs`, which imports a verb when it is called.
"""
