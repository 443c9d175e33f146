"""Tests of `managers.datacenter.provider`."""
