"""Tests of `contracts.datacenter.rules`."""
