"""Jobs of backups, restores, restore tests and upgrades, the rights of their accounts, and the loop
that advances a run.

May use managers.context and lower layers. Called by the features that run jobs (managers.backup,
managers.restore, managers.restore_test, managers.upgrade). This package creates a Job once, reads
it by name, and deletes it. It never lists or watches Jobs, reads no pods, and does not decide
whether a job runs.
"""
