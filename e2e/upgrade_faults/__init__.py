"""Upgrades that fail: they stop, report the reason, change no pod, and continue on a retry."""
