"""Rolling upgrades: the table of states, and what a transition means for release and status.

Pure. Called by `managers.upgrade.decide` and by `managers.cluster.reconcile`.
"""
