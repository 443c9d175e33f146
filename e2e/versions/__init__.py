"""Scenario: upgrades between releases whose servers do not report their health to each other."""
