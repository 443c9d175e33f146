"""Network access to the cluster: Services and NetworkPolicy. Pure."""
