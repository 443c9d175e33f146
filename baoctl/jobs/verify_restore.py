"""Verifies that the servers have the data of the snapshot that was sent to them.

Called by baoctl.jobs.restore. The evidence is a token that was issued after the snapshot was taken:
if the leader no longer accepts it, the data has been replaced. A token that may be in the snapshot,
or that the servers do not store, is no evidence; then the leader has to be healthy for
HEALTHY_SECONDS.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, Literal

from baoctl.jobs.context import JobContext
from baoctl.jobs.leader_client import LeaderSession
from contracts.builders.job import RESTORE_SECONDS
from contracts.jobs.env import RestoreEnv
from managers.bao.client import BaoError, Denied
from managers.bao.models import ServerHealth

TIMEOUT_SECONDS: Final = 180.0
"""Time limit in seconds of the verification."""
SEALED_SECONDS: Final = 12.0
"""Seconds after which a sealed server does not unseal automatically any more."""
HEALTHY_SECONDS: Final = 15.0
"""Seconds for which the leader has to be healthy if the token is no evidence."""
POLL_SECONDS: Final = 0.5
LOOKUP: Final = "auth/token/lookup-self"

State = Literal["Applied", "Sealed", "Unconfirmed"]


@dataclass(frozen=True, slots=True)
class RestoreEvidence:
    """Evidence of a restore. `proves`: only servers with the former data accept the token."""

    proves: bool
    accepted: bool = False
    """The leader answered that it accepted the snapshot."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The verified state of the servers."""

    state: State
    message: str


async def find_evidence(session: LeaderSession) -> RestoreEvidence:
    """Check whether the servers store the token, and lose it only with their data.

    A token that expires, or has a limited number of uses, may be refused although the data is
    unchanged.
    """
    try:
        token = await session.bao.read(session.leader.address, session.token, LOOKUP)
    except (Denied, BaoError):
        return RestoreEvidence(proves=False)
    expires, ttl = token.get("expire_time"), token.get("ttl")
    lasts = expires is None or (isinstance(ttl, int) and ttl >= RESTORE_SECONDS)
    stored = token.get("type") == "service"
    return RestoreEvidence(proves=stored and lasts and not token.get("num_uses"))


async def confirm(
    env: RestoreEnv, context: JobContext, session: LeaderSession, evidence: RestoreEvidence
) -> Confirmation:
    """Query the servers until their state is known, or until TIMEOUT_SECONDS have passed.

    Never raises. A static token may be in the snapshot, so it is evidence only if the leader
    refuses it.
    """
    clock = context.clock
    start = clock.monotonic()
    sealed_since: float | None = None
    healthy_since: float | None = None
    while clock.monotonic() - start < TIMEOUT_SECONDS:
        healths = await _server_healths(env, context, session)
        leaders = [address for address, health in healths.items() if health.leads]
        replaced = (
            len(leaders) == 1 and evidence.proves and await _refuses_token(session, leaders[0])
        )
        if replaced:
            return Confirmation("Applied", "the leader has the data of the snapshot")
        now = clock.monotonic()
        sealed = bool(healths) and all(health.sealed for health in healths.values())
        sealed_since = (sealed_since or now) if sealed else None
        if sealed_since is not None and now - sealed_since >= SEALED_SECONDS:
            return Confirmation(
                "Sealed", f"{len(healths)} servers have been sealed since the snapshot was sent"
            )
        healthy = len(leaders) == 1 and evidence.accepted
        healthy_since = (healthy_since or now) if healthy else None
        stable = healthy_since is not None and now - healthy_since >= HEALTHY_SECONDS
        if stable and (not evidence.proves or env.server.auth == "token"):
            return Confirmation("Applied", "the leader accepted the snapshot and is healthy")
        await clock.sleep(POLL_SECONDS)
    return Confirmation(
        "Unconfirmed",
        f"could not confirm within {TIMEOUT_SECONDS:.0f} s that the servers have the data of the "
        "snapshot",
    )


async def _server_healths(
    env: RestoreEnv, context: JobContext, session: LeaderSession
) -> dict[str, ServerHealth]:
    """Return the health of each server that answers, by its address."""
    healths = await asyncio.gather(*(_health(host, context, session) for host in env.server.hosts))
    return dict(health for health in healths if health is not None)


async def _health(
    host: str, context: JobContext, session: LeaderSession
) -> tuple[str, ServerHealth] | None:
    try:
        address = await context.addresses.resolve(host)
        return address, await session.bao.health(address)
    except (OSError, BaoError):
        return None


async def _refuses_token(session: LeaderSession, leader: str) -> bool:
    try:
        await session.bao.read(leader, session.token, LOOKUP)
    except Denied as error:
        return error.code == 403
    except BaoError:
        return False
    return False
