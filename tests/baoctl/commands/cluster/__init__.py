"""Tests of `baoctl.commands.cluster`."""
