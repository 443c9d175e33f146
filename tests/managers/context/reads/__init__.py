"""Tests of `managers.context.reads`."""
