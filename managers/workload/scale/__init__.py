"""How many servers there are to be right now: voters, read replicas, hibernation, leftover PVCs.

Pure. Called by `managers.workload.plan` and `managers.workload.read_pool`.
"""
