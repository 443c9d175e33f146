"""Tests of managers.recovery_keys."""
