"""The operation lock: one long operation per cluster, and who holds it.

Uses contracts, runtime and nothing of its neighbours. Called by managers.backup, managers.restore
and, once there is one, the upgrade. `status.operationLock` is written here and nowhere else.
"""
