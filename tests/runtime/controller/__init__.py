"""Tests of `runtime.controller`."""
