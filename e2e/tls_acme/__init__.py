"""Servers that fetch their certificates from a real ACME server, pebble."""
