"""The client of the Kubernetes API: verbs, credentials, transport, bytes.

All requests to the API server use it. Called by `runtime.cache`, `runtime.apply` and by code that
reads one object by name.
"""
