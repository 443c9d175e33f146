"""Tenants: namespaces in which the provisioner lets the operator manage clusters."""
