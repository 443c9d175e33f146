"""Asking the leader whether a server may be away: before a pod is replaced, and only then."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.observed import PodFacts, Quorum, RaftServer
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import TokenSource, as_known
from managers.bao.models import AutopilotState


async def ask_quorum(bao: Bao, pods: Sequence[PodFacts], login: TokenSource) -> Quorum | None:
    """Read the autopilot's state from the one server that says it leads.

    None when the operator may not ask: then a roll goes by the readiness of the pods, as it does
    without a login. Never raises.
    """
    leaders = [pod for pod in pods if pod.ip and pod.ready and pod.registration.active]
    if len(leaders) != 1:
        return Quorum(trouble="not exactly one ready server says that it leads")
    address = leaders[0].ip
    try:
        state = await as_known(bao, address, login, bao.autopilot_state)
    except Denied:
        return None
    except BaoError as error:
        return Quorum(trouble=str(error))
    return _quorum(state)


def _quorum(state: AutopilotState) -> Quorum:
    voters = set(state.voters or ())
    return Quorum(
        servers=tuple(
            RaftServer(name, voter=name in voters, healthy=server.healthy)
            for name, server in sorted((state.servers or {}).items())
        ),
        failure_tolerance=state.failure_tolerance,
    )
