"""Upgrades: which release the servers run, the steps to a new one, and what blocks a step.

    decide_upgrade (before resolve) -> the plan of the workload -> track_progress (before status)

Decisions are tables of contracts.state_machine; `actions` runs their effects. May use
managers.jobs, managers.operation_lock and the layers below. Called by managers.cluster, by the Jobs
of an upgrade and by `baoctl upgrade`.
"""
