"""The verbs of `baoctl` for clusters, datacenters and manifests: one module or package each.

May import every layer below baoctl. Called by baoctl.verbs, which imports a module when its verb is
called.
"""
