"""The recovery keys of a cluster: from the server that made them to a Secret, still encrypted.

May use managers.bao and managers.access. Called by managers.cluster.adminops.
"""
