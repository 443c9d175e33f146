"""Servers without a vote: how they come, serve, go and come back."""
