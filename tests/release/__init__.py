"""Tests of the release: what needs no kubectl."""
