"""Tests of managers.restore."""
