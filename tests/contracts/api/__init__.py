"""Unit tests of the API types, their rules and the CRD made of them."""
