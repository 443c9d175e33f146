"""Measures how settings affect the speed of the servers: the figures of docs/tuning.md."""
