"""Tests of the pure modules of e2e.bench."""
