"""Tests of managers.membership."""
