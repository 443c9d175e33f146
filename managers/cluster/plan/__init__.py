"""The plan step: the ordered table of what features want, folded into one `Desired`.

Pure. Called by `managers.cluster.reconcile` and by `baoctl render`.
"""
