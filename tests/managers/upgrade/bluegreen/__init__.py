"""Tests of `managers.upgrade.bluegreen`."""
