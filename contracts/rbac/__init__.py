"""What the operator and its provisioner may do at the API server, as tables.

The manifests, the admission policies and the docs are made of them. Pure.
"""
