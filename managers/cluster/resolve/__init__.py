"""The resolve step: every default, merge and choice, made once for each reconcile.

Pure. Called by `managers.cluster.reconcile` and by `baoctl render`.
"""
