"""Tests of e2e.churn."""
