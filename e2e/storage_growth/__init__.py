"""Data volumes that grow, that cannot, and that are lost, under a client that writes."""
