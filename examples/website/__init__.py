"""An operator for kind Website: pages in the cluster, served by a few replicas.

Read `reconcile` first (what a site should be, and how it gets there), then `__main__` (what a
process is made of). The walk through both is in docs/runtime.md.
"""
