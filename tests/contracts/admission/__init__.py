"""Unit tests of the admission policies and their tables."""
