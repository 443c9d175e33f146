"""The operation lock: one long operation per cluster, and its holder.

May use only contracts and runtime. Called by managers.backup, managers.restore and
managers.upgrade. Only this package writes `status.operationLock`.
"""
