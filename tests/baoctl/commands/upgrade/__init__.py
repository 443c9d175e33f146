"""Tests of `baoctl.commands.upgrade`."""
