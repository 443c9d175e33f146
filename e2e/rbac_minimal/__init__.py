"""Scenario: every right is needed, and no other is missed."""
