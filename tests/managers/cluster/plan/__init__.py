"""Tests of `managers.cluster.plan`."""
