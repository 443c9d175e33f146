"""What is deleted with a cluster, what is retained, and how it is reused."""
