"""The server certificates of a cluster, and its certificate authority."""
