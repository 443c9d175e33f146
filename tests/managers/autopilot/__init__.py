"""Tests of managers.autopilot."""
