"""Tests of managers.proof."""
