"""Whether the servers have the data of a snapshot that was sent to them.

Called by baoctl.jobs.restore. The evidence is a token that was issued after the snapshot was taken:
a leader that no longer accepts it has other data than before. A token that may be in the snapshot
itself, or that no storage holds, is no evidence; then the leader has to be healthy for WELL_FOR.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, Literal

from baoctl.jobs.context import JobContext
from baoctl.jobs.leader_client import LeaderSession
from contracts.jobs.env import RestoreEnv
from managers.bao.client import BaoError, Denied
from managers.bao.models import ServerHealth

PATIENCE: Final = 180.0
"""Seconds until the servers have to agree on what they have."""
SEALED_FOR: Final = 12.0
"""Seconds after which a server that is sealed will not unseal automatically."""
WELL_FOR: Final = 15.0
"""Seconds for which a leader has to be well where no token can prove anything."""
PAUSE: Final = 0.5
LOOKUP: Final = "auth/token/lookup-self"

State = Literal["Applied", "Sealed", "Unconfirmed"]


@dataclass(frozen=True, slots=True)
class RestoreEvidence:
    """How a restore is verified. `proves`: the token of the session ends with the former data."""

    proves: bool
    accepted: bool = False
    """The leader said that it took the snapshot."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the servers show."""

    state: State
    message: str


async def find_evidence(at: LeaderSession) -> RestoreEvidence:
    """Check whether the token is stored, and was issued to this job."""
    try:
        token = await at.bao.read(at.leader.address, at.token, LOOKUP)
    except (Denied, BaoError):
        return RestoreEvidence(proves=False)
    return RestoreEvidence(proves=token.get("type") == "service")


async def confirm(
    env: RestoreEnv, here: JobContext, at: LeaderSession, evidence: RestoreEvidence
) -> Confirmation:
    """Ask the servers until they show what they have, or for PATIENCE. Never raises.

    A static token may be in the snapshot; it proves only when it is gone, like any other.
    """
    clock = here.clock
    began = clock.monotonic()
    sealed_since: float | None = None
    well_since: float | None = None
    while clock.monotonic() - began < PATIENCE:
        healths = await _server_healths(env, here, at)
        leaders = [address for address, health in healths.items() if _leads(health)]
        gone = len(leaders) == 1 and evidence.proves and await _is_gone(at, leaders[0])
        if gone:
            return Confirmation("Applied", "the leader has the data of the snapshot")
        now = clock.monotonic()
        sealed = bool(healths) and all(health.sealed for health in healths.values())
        sealed_since = (sealed_since or now) if sealed else None
        if sealed_since is not None and now - sealed_since >= SEALED_FOR:
            return Confirmation(
                "Sealed", f"{len(healths)} servers are sealed since the snapshot was sent"
            )
        well = len(leaders) == 1 and evidence.accepted
        well_since = (well_since or now) if well else None
        lasting = well_since is not None and now - well_since >= WELL_FOR
        if lasting and (not evidence.proves or env.server.auth == "token"):
            return Confirmation("Applied", "the leader took the snapshot, and is well since")
        await clock.sleep(PAUSE)
    return Confirmation(
        "Unconfirmed",
        f"the servers did not show within {PATIENCE:.0f} s that they have the data of the snapshot",
    )


async def _server_healths(
    env: RestoreEnv, here: JobContext, at: LeaderSession
) -> dict[str, ServerHealth]:
    """The health of each server that answers, by its address."""
    healths = await asyncio.gather(*(_health(host, here, at) for host in env.server.hosts))
    return dict(one for one in healths if one is not None)


async def _health(
    host: str, here: JobContext, at: LeaderSession
) -> tuple[str, ServerHealth] | None:
    try:
        address = await here.addresses.resolve(host)
        return address, await at.bao.health(address)
    except (OSError, BaoError):
        return None


def _leads(health: ServerHealth) -> bool:
    return health.initialized and not health.sealed and not health.standby


async def _is_gone(at: LeaderSession, leader: str) -> bool:
    try:
        await at.bao.read(leader, at.token, LOOKUP)
    except Denied as error:
        return error.code == 403
    except BaoError:
        return False
    return False
