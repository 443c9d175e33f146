"""Tests of `contracts.rbac`."""
