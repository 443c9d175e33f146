"""Tests of the pure parts of the rig; the rest is proven by every scenario that runs on it."""
