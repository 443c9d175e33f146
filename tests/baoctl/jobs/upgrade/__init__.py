"""Tests of `baoctl.jobs.upgrade`."""
