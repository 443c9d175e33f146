"""Reads the autopilot settings, and writes them when they differ.

Called by `managers.cluster.adminops.reconcile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from contracts.records.observed import PodFacts
from managers.autopilot.decide import AutopilotDecision, differing
from managers.bao.client import AUTOPILOT_SETTINGS, Bao, BaoError, Denied
from managers.bao.login import TokenSource, request_with_token

FORBIDDEN = 403
NO_LOGIN = (
    "the operator has no login, so the servers keep their current settings: set "
    "spec.selfInit.oidc.enabled before you create the cluster, or change the settings yourself"
)
POLICY = (
    f"allow read and update on {AUTOPILOT_SETTINGS} in the policy of the operator's role; clusters "
    "that an older operator created may lack it"
)


@dataclass(frozen=True, slots=True)
class AutopilotSession:
    """A session with the servers of a cluster, and the login for it."""

    bao: Bao
    pods: Sequence[PodFacts]
    login: TokenSource | None


async def apply_settings(
    session: AutopilotSession, settings: Mapping[str, Any]
) -> AutopilotDecision | None:
    """Apply settings at the leader: one read, and a write only if they differ.

    Returns None if no leader responds. Does not raise errors of the server.
    """
    bao, pods, login = session.bao, session.pods, session.login
    if login is None:
        return AutopilotDecision(applied=False, refused=True, message=NO_LOGIN)
    leaders = [pod for pod in pods if pod.ip and pod.ready and pod.registration.active]
    if len(leaders) != 1:
        return None
    address = leaders[0].ip
    try:
        live = await request_with_token(bao, address, login, bao.autopilot_settings)
        if differing(settings, live):
            await request_with_token(bao, address, login, partial(_write, bao, settings))
    except Denied as denied:
        hint = f": {POLICY}" if denied.code == FORBIDDEN else ""
        return AutopilotDecision(applied=False, refused=True, message=f"{denied}{hint}")
    except BaoError:
        return None
    return AutopilotDecision(applied=True)


async def _write(bao: Bao, settings: Mapping[str, Any], address: str, token: str) -> None:
    await bao.set_autopilot(address, token, settings)
