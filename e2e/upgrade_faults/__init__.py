"""Upgrades that cannot continue: they stop, report why, change no pod, and continue on a retry."""
