"""Tests of `managers.datacenter.store`."""
