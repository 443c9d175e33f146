"""Tests of `contracts.records`."""
