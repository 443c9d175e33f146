"""Tests of `baoctl.commands.bench`."""
