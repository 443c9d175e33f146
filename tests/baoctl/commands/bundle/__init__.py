"""Tests of `baoctl.commands.bundle`."""
