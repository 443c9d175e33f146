"""Tests of `managers.workload.scale`."""
