"""Tests of `contracts.api.cluster`."""
