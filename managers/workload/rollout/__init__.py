"""Rollout: which pod is replaced, reloaded, fenced or restarted next, and what blocks that.

Pure. Called by `managers.workload.plan` and `managers.workload.read_pool`.
"""
