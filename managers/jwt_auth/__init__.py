"""Public keys with which OpenBao verifies ServiceAccount tokens, in sync with the API server.

May use managers.bao. Called by managers.cluster.adminops.reconcile.
"""
