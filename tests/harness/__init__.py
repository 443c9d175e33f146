"""Tests of the harness of the scenarios."""
