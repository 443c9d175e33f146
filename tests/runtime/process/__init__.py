"""Tests of `runtime.process`."""
