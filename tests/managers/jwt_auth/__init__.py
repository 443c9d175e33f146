"""Tests of managers.jwt_auth."""
