"""Servers that are kept from running, while the others serve on."""
