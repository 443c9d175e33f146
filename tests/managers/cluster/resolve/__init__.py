"""Tests of `managers.cluster.resolve`."""
