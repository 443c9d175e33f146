"""The Prometheus families of one process.

The names are those of controller-runtime and client-go where they have one.
"""
