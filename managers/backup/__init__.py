"""Backups: the schedule of a cluster, and the lifecycle of one OpenBaoBackup.

Two reconcilers. `schedule` reconciles clusters: it creates OpenBaoBackup objects for the schedule
and for manual triggers, counts their results in `status.backup`, and deletes old ones. `reconcile`
reconciles one OpenBaoBackup: it takes the operation lock, creates one Job and records its result.
Uses managers.jobs and managers.operation_lock. Composed by baoctl.controllers.backup.
"""
