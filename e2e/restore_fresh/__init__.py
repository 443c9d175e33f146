"""Scenario: a snapshot is restored into a new cluster, which is deleted again."""
