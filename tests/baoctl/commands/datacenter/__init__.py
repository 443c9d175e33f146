"""Tests of `baoctl.commands.datacenter`."""
