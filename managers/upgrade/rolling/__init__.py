"""Rolling upgrades: the table of states, and what a decision means for the release and the status.

Pure. Called by `managers.upgrade.decide` and by `managers.cluster.reconcile`.
"""
