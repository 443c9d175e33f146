"""Tests of `managers.workload.storage`."""
