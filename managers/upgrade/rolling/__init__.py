"""Rolling upgrades: the table of states, and the effect of a transition on release and status.

Pure. Called by `managers.upgrade.decide` and by `managers.cluster.reconcile`.
"""
