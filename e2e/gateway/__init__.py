"""Ways in through a Gateway, whose API may be absent, come, and go."""
