"""Tests of `managers.cluster.apply`."""
