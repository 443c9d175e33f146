"""Tests of `baoctl.jobs.snapshot`."""
