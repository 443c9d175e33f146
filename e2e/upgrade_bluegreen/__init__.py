"""Blue/green upgrades: a second pool takes over."""
