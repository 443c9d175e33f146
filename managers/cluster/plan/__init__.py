"""The plan step: the ordered table of feature plans, merged into one `Desired`.

Pure. Called by `managers.cluster.reconcile` and by `baoctl render`.
"""
