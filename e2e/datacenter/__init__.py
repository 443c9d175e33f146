"""Datacenters with a vault and shared services: creation, changes, faults and deletion."""
