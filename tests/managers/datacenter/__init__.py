"""Tests of managers.datacenter."""
