"""e2e.cluster_fleet."""
