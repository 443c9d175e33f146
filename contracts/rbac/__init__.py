"""The rights of the operator and its provisioner at the API server, as tables.

The manifests, the admission policies and the docs are generated from them. Pure.
"""
