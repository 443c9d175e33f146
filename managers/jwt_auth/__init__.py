"""The keys by which OpenBao checks ServiceAccount tokens, kept as the API server's are.

May use managers.bao. Called by managers.cluster.adminops.reconcile.
"""
