"""Tests of `runtime.apply`."""
