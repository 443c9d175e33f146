"""Upgrades that cannot go on: they stop, say why, touch nobody, and go on when they are told to."""
