"""Tests of `managers.bootstrap.seal`."""
