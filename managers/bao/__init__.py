"""The OpenBao HTTP API, as much of it as the operator speaks. The only place that does.

May use aiohttp; knows nothing of Kubernetes. Called by `managers.membership`.
"""
