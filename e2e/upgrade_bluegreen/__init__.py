"""Blue/green upgrades: a green pool replaces the blue pool."""
