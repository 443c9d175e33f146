"""Tests of contracts.builders."""
