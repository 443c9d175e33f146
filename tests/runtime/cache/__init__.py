"""Tests of `runtime.cache`."""
