"""Restore tests: a Job restores a snapshot into a temporary server and verifies its data.

May use contracts, runtime, and managers.jobs; no other feature. `state_machine` decides when a test
is due, `status` evaluates its result, `reconcile` carries it out, `condition` reports it. Called by
`baoctl.controllers.restore_test` and by the table of `managers.cluster.status.conditions`.
"""
