"""The status step: conditions, phase and events of a cluster, computed from what was applied.

Pure. Called by `managers.cluster.reconcile`; written by `managers.cluster.apply.status_writer`.
"""
