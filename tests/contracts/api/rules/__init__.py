"""Tests of `contracts.api.rules`."""
