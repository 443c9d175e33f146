"""How raft treats servers that are gone or new: its autopilot's settings, kept as the spec asks."""
