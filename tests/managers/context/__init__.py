"""Tests of managers.context."""
