"""Upgrades: which release the servers run, step by step, and what blocks a step.

    decide_upgrade (before resolve) -> the plan of the workload -> track_progress (before status)

Decisions are tables of contracts.state_machine; `actions` runs their effects. May use
managers.jobs, managers.operation_lock and what is below them; called by managers.cluster alone, and
by `baoctl upgrade`.
"""
