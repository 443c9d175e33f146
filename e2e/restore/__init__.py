"""Scenario: a snapshot is restored into a running cluster, exactly once, despite faults."""
