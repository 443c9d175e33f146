"""Tests of `contracts.jobs`."""
