"""Unit tests of the shared services of datacenters: their rules, their CRDs and their order."""
