"""Unit tests of the admission policies: what they are made of, and that nothing is left out."""
