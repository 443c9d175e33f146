"""Tests of `baoctl.generate`."""
