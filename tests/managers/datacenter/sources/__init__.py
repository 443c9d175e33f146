"""Tests of `managers.datacenter.sources`."""
