"""Backups: when one is due, and the life of each.

Two reconcilers. `schedule` is about clusters: it makes OpenBaoBackup objects when the schedule or a
person asks, counts how they end into `status.backup`, and removes old ones. `run` is about one
OpenBaoBackup: it takes the operation lock, makes the one Job and writes down how that ended.
Uses managers.jobs and managers.operation_lock. Composed by baoctl.controllers.backup.
"""
