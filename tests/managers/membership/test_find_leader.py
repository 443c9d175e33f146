"""managers.membership.find_leader: the leader by responses when labels are ambiguous."""

import pytest

from managers.membership.find_leader import known_leader, resolve_leader
from tests import gen
from tests.managers.membership.servers import Servers

LEADS = gen.pod(0).ready(leading=True)
LATE = gen.pod(2).ready(leading=True)
FOLLOWS = gen.pod(1).ready()

# sentence: (pods, ordinals that respond as the leader, silent ordinals, the resulting leaders)
ASKED: dict[str, tuple[tuple[gen.Pod, ...], set[int], set[int], list[int]]] = {
    "a stale label": ((LEADS, FOLLOWS, LATE), {2}, set(), [2]),
    "no label": ((gen.pod(0).ready(), FOLLOWS), {1}, set(), [1]),
    "two leaders": ((LEADS, LATE), {0, 2}, set(), [0, 2]),
    "an election": ((LEADS, LATE), set(), set(), []),
    "a killed server with a stale label": ((LEADS, FOLLOWS, LATE), {2}, {0}, [2]),
    "no response": ((LEADS, FOLLOWS, LATE), set(), {0, 1, 2}, [0, 2]),
    "a silent server that may lead": ((LEADS, LATE), set(), {0}, [0]),
}


@pytest.mark.parametrize(("pods", "leading", "silent", "wanted"), ASKED.values(), ids=ASKED)
async def test_the_leader_by_the_responses_of_the_servers(
    pods: tuple[gen.Pod, ...], leading: set[int], silent: set[int], wanted: list[int]
) -> None:
    servers = Servers()
    servers.silent = {f"10.0.0.{ordinal + 1}" for ordinal in silent}
    servers.standby = {f"10.0.0.{n + 1}" for n in range(3) if n not in leading}
    facts = await resolve_leader(servers, [pod.facts() for pod in pods])
    assert [pod.ordinal for pod in facts if pod.registration.active] == wanted
    assert [pod.name for pod in facts] == [pod.facts().name for pod in pods]


async def test_a_terminating_pod_or_one_without_an_address_is_not_queried() -> None:
    servers = Servers()
    servers.standby = {"10.0.0.3"}
    pods = (LEADS.terminating(), gen.pod(1).unschedulable("no room"), LATE)
    await resolve_leader(servers, [pod.facts() for pod in pods])
    assert servers.requests == ["health 10.0.0.3"]


async def test_a_sealed_server_does_not_lead() -> None:
    servers = Servers()
    servers.sealed = True
    facts = await resolve_leader(servers, [LEADS.facts(), LATE.facts()])
    assert not any(pod.registration.active for pod in facts)


async def test_servers_are_queried_only_when_their_labels_are_ambiguous() -> None:
    servers = Servers()
    servers.standby = {"10.0.0.1"}
    clear = [LEADS.facts(), FOLLOWS.facts()]
    assert await known_leader(servers, clear) == tuple(clear)
    assert servers.requests == []
    ambiguous = await known_leader(servers, [LEADS.facts(), LATE.facts()])
    assert [pod.ordinal for pod in ambiguous if pod.registration.active] == [2]
