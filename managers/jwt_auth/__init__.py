"""Sets up the login of the operator, and keeps the public keys for ServiceAccount tokens in sync.

May use managers.bao. Called by managers.cluster.adminops.
"""
