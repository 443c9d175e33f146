"""Tests of e2e.cluster_fleet."""
