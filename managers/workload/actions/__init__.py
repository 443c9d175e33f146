"""Effects of the workload step: on pods, PVCs, StatefulSets and raft peers, each by UID.

Called by `managers.cluster.apply.actions`. They make no decisions.
"""
