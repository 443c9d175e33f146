"""Upgrades: which release the servers are brought to, step by step, and what stops it.

    course.direct (before resolve) -> the plan of the workload -> progress.follow (before status)

Decisions are tables of contracts.state_machine; run carries out what they ask for. May use
managers.jobs, managers.operation_lock and what is below them; called by managers.cluster alone, and
by `baoctl upgrade`.
"""
