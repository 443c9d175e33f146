"""A datacenter with a vault and shared services: made, edited, broken, and gone without a trace."""
