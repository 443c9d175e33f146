"""Clusters whose root token the operator draws, stores and lets the first boot register."""
