"""The dependencies of code with side effects: API client, Secrets, clock, random bytes.

Actions, observers and reconcilers of all features use this package, and plans do not. It uses no
feature.
"""
