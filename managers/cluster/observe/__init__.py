"""The observe step: caches, objects by name, servers, and the check of the stored status.

Reads and never writes. Called by the reconcilers of managers.cluster.
"""
