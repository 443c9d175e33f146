"""Clusters that initialize themselves with requests of the user."""
