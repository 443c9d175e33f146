"""Tests of `contracts.conditions`."""
