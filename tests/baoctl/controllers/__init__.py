"""Tests of `baoctl.controllers`."""
