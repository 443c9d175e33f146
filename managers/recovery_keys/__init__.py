"""Copies the encrypted recovery shares of a cluster from the server to a Secret.

May use managers.bao and managers.context. Called by managers.cluster.adminops, and by
managers.cluster.resolve for the checks of the keys.
"""
