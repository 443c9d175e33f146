"""Clusters whose root token is generated and stored by the operator, and created by self-init."""
