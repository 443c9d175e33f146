"""Client of the OpenBao HTTP API, for the requests of the operator and its jobs.

May use aiohttp; knows nothing of Kubernetes. Called by `managers.membership`.
"""
