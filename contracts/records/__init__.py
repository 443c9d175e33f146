"""The records that go from step to step of a reconcile: observed, resolved, desired.

Frozen, and without a decision. May use everything in contracts; filled and read by managers.
"""
