"""Tests of managers.cluster."""
