"""Tests of `baoctl.commands`."""
