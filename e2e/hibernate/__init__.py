"""Hibernation of three servers: no pod runs, and no data is lost."""
