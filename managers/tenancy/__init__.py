"""Tenants: namespaces in which the operator may work because somebody provisioned them."""
