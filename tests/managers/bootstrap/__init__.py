"""Tests of managers.bootstrap."""
