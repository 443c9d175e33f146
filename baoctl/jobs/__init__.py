"""`baoctl job ...`: what runs in the pods of backups, restores and tests, and nowhere else.

Jobs alone open addresses that users write, hold credentials of stores and move snapshots; the
controller does none of it. A job is told everything by contracts.jobs.env and by mounted files, and
says how it ended in the status of the object that it works for (report).

May use contracts, managers.bao, the client of the API server in runtime, and obstore; never a
reconciler. `run` is called by the command line and imports the rest.
"""
