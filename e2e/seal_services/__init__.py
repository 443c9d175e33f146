"""Clusters that key services unseal: a KMIP server, and a KMS whose seal is a plugin."""
