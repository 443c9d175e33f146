"""Rolling upgrades, one server at a time, under load."""
