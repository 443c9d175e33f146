"""`baoctl job ...`: the processes in the pods of backups, restores, restore tests and upgrades.

Only jobs connect to endpoints that users write, hold credentials of stores and transfer snapshots;
the controller does not. A job gets its input from contracts.jobs.env and from mounted files, and
reports its result in the status of its object (baoctl.jobs.report).

May use contracts, managers.bao, the client of the API server in runtime, and obstore; never a
reconciler. baoctl.cli calls baoctl.jobs.main, which imports the rest.
"""
