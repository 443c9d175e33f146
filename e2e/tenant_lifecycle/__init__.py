"""Tenants: a namespace is opened, kept open, and closed, by an identity that may not use it."""
