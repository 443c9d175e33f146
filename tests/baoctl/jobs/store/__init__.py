"""Tests of `baoctl.jobs.store`."""
