"""The records that the steps of a reconcile pass on: observed, resolved, desired.

Frozen, without decisions. May use everything in contracts; created and read by managers.
"""
