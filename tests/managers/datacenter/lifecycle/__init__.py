"""Tests of `managers.datacenter.lifecycle`."""
