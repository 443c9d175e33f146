"""Tenants: a namespace is provisioned, maintained, and closed by the provisioner."""
