"""Tests of contracts.shapes."""
