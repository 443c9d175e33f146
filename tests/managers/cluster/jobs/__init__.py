"""Tests of `managers.cluster.jobs`."""
