"""Tests of managers.identity."""
