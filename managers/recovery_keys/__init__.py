"""The recovery keys of a cluster: from the server that made them to a Secret, still encrypted.

May use managers.bao and managers.context. Called by managers.cluster.adminops.reconcile.
"""
