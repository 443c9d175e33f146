"""Which pod is replaced, reloaded, fenced or restarted next, and what holds it back.

Pure. Called by `managers.workload.plan` and `managers.workload.read_pool`.
"""
