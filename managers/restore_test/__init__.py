"""Restore tests: a snapshot is restored into an ephemeral server, and its data are verified.

May use contracts, runtime, and managers.jobs; no other feature. `plan` decides when a test is due
and evaluates its result, `reconcile` carries that out, `condition` reports it. Called by
`baoctl.controllers.backup` and by the table of `managers.cluster.status.conditions`.
"""
