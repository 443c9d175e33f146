"""Clusters that initialise themselves with requests of the user."""
