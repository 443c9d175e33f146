"""Scenario: snapshots by schedule, annotation and hand; an operator that dies meanwhile."""
