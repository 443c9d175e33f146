"""Tenants: namespaces in which the provisioner grants the operator the rights for clusters."""
