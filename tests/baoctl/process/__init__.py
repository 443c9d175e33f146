"""Tests of `baoctl.process`."""
