"""The dependencies of code with side effects: API client, Secrets, clock, keys. Below all features.

Used by actions, observers and reconcilers; plans never use it.
"""
