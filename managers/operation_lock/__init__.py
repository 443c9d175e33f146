"""The operation lock: one long operation per cluster, and its holder.

May use contracts and runtime alone. Called by managers.backup, managers.restore and
managers.upgrade. Only this package writes `status.operationLock`.
"""
