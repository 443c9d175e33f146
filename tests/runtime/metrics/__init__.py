"""Tests of `runtime.metrics`."""
