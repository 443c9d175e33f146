"""Recovery keys of a cluster: copied, still encrypted, from the server to a Secret.

May use managers.bao and managers.context. Called by managers.cluster.adminops.reconcile.
"""
