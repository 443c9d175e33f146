"""Snapshots in S3 with credentials, and TLS with a private CA."""
