"""Scenario: the store, the job and the servers fail while a snapshot is taken."""
