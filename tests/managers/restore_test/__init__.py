"""Tests of managers.restore_test."""
