"""How the cluster is reached, and by whom: Services and NetworkPolicy. Pure."""
