"""Tests of `managers.cluster.adminops`."""
