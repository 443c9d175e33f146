"""What code that acts may reach: API client, Secrets, clock, keys. Below all features.

Used by `run.py` modules and by `managers.cluster`; plans never see it.
"""
