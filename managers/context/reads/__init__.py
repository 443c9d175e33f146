"""Objects that are read by name and remembered for a while: Secrets, PVCs, admission policies.

No cache of the process holds them. Called by the observe step and by the features.
"""
