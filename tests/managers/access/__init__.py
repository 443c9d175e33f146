"""Tests of managers.access."""
