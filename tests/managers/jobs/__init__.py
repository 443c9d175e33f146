"""Tests of managers.jobs."""
