"""Client of the OpenBao HTTP API, for the requests of the operator and its jobs.

May use aiohttp; only `login` uses the API server. Called by the other managers and by the jobs.
"""
