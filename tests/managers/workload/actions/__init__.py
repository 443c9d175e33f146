"""Tests of `managers.workload.actions`."""
