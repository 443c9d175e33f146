"""What every API server does, asked of the fake one and of a real one with the same functions."""
