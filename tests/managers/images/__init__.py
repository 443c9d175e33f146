"""Tests of managers.images."""
