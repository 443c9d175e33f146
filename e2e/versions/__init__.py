"""Upgrades between releases, also between those whose servers report no health to each other."""
