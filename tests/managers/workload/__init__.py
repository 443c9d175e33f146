"""Tests of managers.workload."""
