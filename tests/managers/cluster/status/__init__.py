"""Tests of `managers.cluster.status`."""
