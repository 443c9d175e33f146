"""Clusters with a root token that the operator generates and stores, and self-init creates."""
