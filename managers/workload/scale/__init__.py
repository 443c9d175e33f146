"""The number of servers to run now: voters, read replicas, hibernation, leftover PVCs.

Pure. Called by `managers.workload.plan` and `managers.workload.read_pool`.
"""
