"""The client of the Kubernetes API: verbs, credentials, transport, bytes.

The only way to the API server. Called by `runtime.cache`, `runtime.apply` and by code that reads
one object by name.
"""
