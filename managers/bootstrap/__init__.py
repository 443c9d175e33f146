"""What must exist before the first pod: configuration, unseal key, the document of first boot."""
