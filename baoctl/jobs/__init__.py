"""`baoctl job ...`: what runs in the pods of backups, restores, restore tests and upgrades.

Jobs alone open addresses that users write, hold credentials of stores and move snapshots; the
controller does none of it. A job gets all its input from contracts.jobs.env and from mounted files,
and reports its result in the status of the object that it works for (baoctl.jobs.report).

May use contracts, managers.bao, the client of the API server in runtime, and obstore; never a
reconciler. baoctl.cli calls baoctl.jobs.main, which imports the rest.
"""
