"""Scenario: a snapshot is put back into a cluster that runs, once, whatever happens meanwhile."""
