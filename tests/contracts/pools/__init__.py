"""Tests of `contracts.pools`."""
