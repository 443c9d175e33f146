"""Tests of `managers.upgrade.preflight`."""
