"""Reconciles the raft autopilot settings for dead and new servers."""
