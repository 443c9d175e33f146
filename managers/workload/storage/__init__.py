"""Data volumes that grow, and the StatefulSet around them when it cannot be changed in place.

Pure. Called by `managers.workload.plan` and by the condition StorageConfigured.
"""
