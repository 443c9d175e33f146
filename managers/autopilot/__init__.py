"""Settings of the raft autopilot for dead and new servers, reconciled to the spec."""
