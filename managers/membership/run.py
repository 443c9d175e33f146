"""Asking the servers: who they are, and whom their leader counts as a member."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from contracts.observed import PodFacts
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import TokenSource, as_known
from managers.membership.plan import Answers


async def ask(bao: Bao, pods: Sequence[PodFacts], login: TokenSource | None) -> Answers:
    """Ask every ready server for its cluster, and the leader for the members."""
    ready = [pod for pod in pods if pod.ready and pod.ip]
    ids = dict(await asyncio.gather(*(_cluster_id(bao, pod) for pod in ready)))
    leaders = [pod for pod in ready if pod.registration.active]
    if not leaders:
        return Answers(ids, None, "no ready server says that it leads")
    if login is None:
        return Answers(
            ids, None, "the operator has no login of its own (spec.selfInit.oidc.enabled)"
        )
    try:
        members = await as_known(bao, leaders[0].ip, login, bao.members)
    except (BaoError, Denied) as error:
        return Answers(ids, None, f"{leaders[0].name} was asked for the members: {error}")
    return Answers(ids, members, "")


async def _cluster_id(bao: Bao, pod: PodFacts) -> tuple[str, str]:
    try:
        return pod.name, (await bao.health(pod.ip)).cluster_id
    except BaoError:
        return pod.name, ""
