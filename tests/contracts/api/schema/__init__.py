"""Tests of `contracts.api.schema`."""
