"""Tests of `runtime.leader`."""
