"""The StatefulSet of a pool and its pod template: containers, probes, scheduling, annotations.

Pure. Called by `managers.workload.plan` and `managers.workload.read_pool`.
"""
