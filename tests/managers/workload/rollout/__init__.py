"""Tests of `managers.workload.rollout`."""
