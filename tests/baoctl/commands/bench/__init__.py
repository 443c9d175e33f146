"""Tests of `baoctl.commands.login`."""
