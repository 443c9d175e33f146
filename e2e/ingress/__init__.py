"""Exposure through an Ingress."""
