"""The observe step: caches, objects by name, servers, and what of a stored status is believed.

Reads and never writes. Called by the reconcilers of managers.cluster.
"""
