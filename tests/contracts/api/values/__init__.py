"""Tests of `contracts.api.values`."""
