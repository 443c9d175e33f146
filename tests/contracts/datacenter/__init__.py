"""Unit tests of the services of datacenters: their rules, their CRDs and their order."""
