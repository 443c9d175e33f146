"""Tests of `runtime.limits`."""
