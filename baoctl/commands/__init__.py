"""The verbs of `baoctl` that read clusters, datacenters and manifests: one module or package each.

May use everything below baoctl; called by `baoctl.cli`, which imports a verb when it is called.
"""
