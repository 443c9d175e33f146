"""Tests of `managers.workload.objects`."""
