"""`baoctl job ...`: the processes in the pods of backups, restores, restore tests and upgrades.

Only jobs connect to endpoints that users configure, hold credentials of stores and transfer
snapshots; the controller does not. A job reads its input from environment variables
(contracts.jobs.env) and mounted files. It reports its result in the status of its object
(baoctl.jobs.report); an upgrade job has no object, and reports in its exit status.

May use contracts, managers.bao, pure functions of other managers, the client of the API server in
runtime, and obstore; never a reconciler. baoctl.verbs.process imports baoctl.jobs.main or
baoctl.jobs.upgrade.main, which import the rest.
"""
