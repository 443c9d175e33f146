"""Servers with certificates from an ACME server, pebble."""
