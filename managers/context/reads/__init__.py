"""Objects that are read by name with a TTL: Secrets, PVCs, admission policies.

No informer of the process holds them. Called by the observe step and by the features.
"""
