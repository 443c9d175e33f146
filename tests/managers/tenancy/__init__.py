"""Tests of managers.tenancy."""
