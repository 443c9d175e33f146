"""A datacenter with a vault and shared services: created, changed, broken, and deleted."""
