"""The Jobs of backups, restores and tests, and what the account of each may write.

May use managers.context and what is below; called by the features that run jobs (managers.backup,
managers.restore, managers.restore_test). It makes a Job once, looks at it by name, and lets it go;
it never lists or watches, never sees a pod, and does not decide whether a job has to run.
"""
