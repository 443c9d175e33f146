"""Tests of managers.bao."""
