"""Tests of managers.certs."""
