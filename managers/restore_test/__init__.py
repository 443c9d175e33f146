"""Proof of snapshots: each one is restored into a server that is thrown away, and looked at.

May use contracts, runtime, and managers.jobs; no other feature. `plan` decides when a test is due
and what its end means, `run` carries that out, `condition` says what is known. Called by
`baoctl.controllers.backup` and by the table of `managers.cluster.status.conditions`.
"""
