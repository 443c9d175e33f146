"""Tests of `contracts.naming`."""
