"""Expansion of data volumes, and re-creation of the StatefulSet for immutable fields.

Pure. Called by `managers.workload.plan` and by the condition StorageConfigured.
"""
