"""Scenario: snapshots go to a real S3 with real credentials, by TLS under a private authority."""
