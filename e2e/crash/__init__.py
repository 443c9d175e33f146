"""Crashes of the operator at each write: the next one finishes, with one unseal key and CA."""
