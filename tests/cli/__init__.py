"""Tests of e2e/cli."""
