"""Scenario: all permissions are needed, and none is missing."""
