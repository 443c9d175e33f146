"""Fenced servers, while the others keep serving."""
