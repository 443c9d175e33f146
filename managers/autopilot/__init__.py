"""Reconciles the settings of raft autopilot: the cleanup of dead servers, and new servers."""
