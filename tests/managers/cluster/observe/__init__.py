"""Tests of `managers.cluster.observe`."""
