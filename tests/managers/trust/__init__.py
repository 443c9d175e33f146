"""Tests of managers.trust."""
