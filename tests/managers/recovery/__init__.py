"""Tests of managers.recovery."""
