"""Read replicas: created, serving, deleted and recreated."""
