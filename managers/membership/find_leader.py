"""Finds the leader when the labels of the pods are ambiguous.

A server labels its own pod, and a label may be stale: a server that lost an election while the API
server did not answer keeps its label as the leader. Labels cost nothing to read, so they are
trusted as long as exactly one pod is labeled as the leader; otherwise the servers are queried.
Called by managers.cluster.observe.observer and managers.cluster.adminops.reconcile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from contracts.records.observed import PodFacts, is_leader_in_doubt
from managers.bao.client import Bao, BaoError


async def resolve_leader(bao: Bao, pods: Sequence[PodFacts]) -> tuple[PodFacts, ...]:
    """Replace the labels of the servers by their answers (sys/health).

    A server that does not answer keeps its label, unless another one responds that it leads: the
    label of a killed server is stale. Never raises.
    """
    answers = await asyncio.gather(*(_is_active(bao, pod) for pod in pods))
    answered = any(answers)
    return tuple(
        _with_active(pod, False if answered and answer is None else answer)
        for pod, answer in zip(pods, answers, strict=True)
    )


async def known_leader(bao: Bao, pods: Sequence[PodFacts]) -> tuple[PodFacts, ...]:
    """Return the pods, with the answers of the servers where the labels are ambiguous.

    `pods`: of all pools. Never raises.
    """
    return await resolve_leader(bao, pods) if is_leader_in_doubt(pods) else tuple(pods)


def _with_active(pod: PodFacts, active: bool | None) -> PodFacts:
    if active is None:
        return pod
    return replace(pod, registration=replace(pod.registration, active=active))


async def _is_active(bao: Bao, pod: PodFacts) -> bool | None:
    if not pod.ip or pod.terminating:
        return None
    try:
        health = await bao.health(pod.ip)
    except BaoError:
        return None
    return health.leads
