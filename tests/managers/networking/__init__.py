"""Tests of managers.networking."""
