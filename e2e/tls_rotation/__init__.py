"""Certificates of the operator: renewal, and replacement of the CA, with running servers."""
