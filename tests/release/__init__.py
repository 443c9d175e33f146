"""Tests of the release that need no kubectl."""
