"""Scenario: a snapshot is put back into a cluster that is made for it, and deleted again."""
