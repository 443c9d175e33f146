"""The apply step, the effects after it, and the one write of the status.

The only part of a reconcile that changes anything. Called by the reconcilers of `managers.cluster`.
"""
