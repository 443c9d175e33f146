"""Keeps the public keys with which OpenBao verifies ServiceAccount tokens in sync.

May use managers.bao. Called by managers.cluster.adminops.reconcile.
"""
