"""Polls the health of the servers of an idle cluster, instead of the API server.

`sys/health` needs no login. Connections stay open, so that a poll costs the servers little. The
result is only whether something changed; the facts come from the API server. Called by
managers.cluster.observe.polling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from contracts.records.observed import PodFacts, ServerClientConfig
from managers.bao.client import BaoError
from managers.bao.models import ServerHealth

Answer = tuple[bool, bool] | None
"""Sealed and standby; None: no answer."""


class HealthSession(Protocol):
    """A session with the servers of one cluster."""

    async def health(self, address: str) -> ServerHealth: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class _PolledCluster:
    """A polled cluster: its client config, its session, and the last answers of its servers."""

    client_config: ServerClientConfig
    session: HealthSession
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)


class HealthPoller:
    """Keeps, per cluster, the last answers of its servers."""

    def __init__(self, connect: Callable[[str, str], HealthSession]) -> None:
        self._connect = connect
        self._clusters: dict[str, _PolledCluster] = {}

    async def changed(
        self, uid: str, client_config: ServerClientConfig, pods: Sequence[PodFacts]
    ) -> bool:
        """Query every server; report whether a response differs from the last one.

        A server without an earlier response counts as unsealed, and as active by its pod label.
        """
        polled = await self._session(uid, client_config)
        targets = {(pod.uid, pod.ip): pod for pod in pods if pod.ip}
        answers = await asyncio.gather(*(_ask(polled.session, ip) for _, ip in targets))
        before = polled.answers
        polled.answers = dict(zip(targets, answers, strict=True))
        expected = {key: (False, not pod.registration.active) for key, pod in targets.items()}
        return any(
            answer != before.get(key, expected[key]) for key, answer in polled.answers.items()
        )

    def forget(self, uid: str) -> Awaitable[None] | None:
        """Stop polling that cluster; the returned awaitable closes its connections."""
        polled = self._clusters.pop(uid, None)
        return None if polled is None else polled.session.close()

    async def close(self) -> None:
        """Close all connections."""
        for uid in tuple(self._clusters):
            closing = self.forget(uid)
            if closing is not None:
                await closing

    async def _session(self, uid: str, client_config: ServerClientConfig) -> _PolledCluster:
        polled = self._clusters.get(uid)
        if polled is not None and polled.client_config == client_config:
            return polled
        answers = polled.answers if polled else {}
        if polled is not None:
            await polled.session.close()
        session = self._connect(client_config.authority, client_config.server_name)
        new = self._clusters[uid] = _PolledCluster(client_config, session, answers)
        return new


async def _ask(session: HealthSession, address: str) -> Answer:
    try:
        health = await session.health(address)
    except BaoError:
        return None
    return health.sealed, health.standby
