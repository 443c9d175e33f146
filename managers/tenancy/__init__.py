"""Tenants: namespaces that the provisioner opened for clusters of the operator."""
