"""The applied indexes of the servers, and the order of the reads."""

from collections.abc import Mapping

from contracts.records.observed import PodFacts
from managers.bao.client import BaoError
from managers.cluster.adminops.restored_servers import copies_of, servers_to_restart
from managers.restore.server_recovery import ReplicationObservation, ReplicationProgress
from tests import gen
from tests.managers.membership.servers import Servers

NAMES = ("x-0", "x-1", "x-2")
PODS = {f"x-{n}": gen.pod(n).ready(leading=n == 0).facts() for n in range(3)}
ADDRESS = {name: pod.ip for name, pod in PODS.items()}


class ReplicatingServers(Servers):
    """Servers with different applied indexes; x-0 is the leader."""

    def __init__(self, **applied: int) -> None:
        super().__init__()
        self.standby = {ADDRESS["x-1"], ADDRESS["x-2"]}
        self.applied = {ADDRESS[name.replace("_", "-")]: at for name, at in applied.items()}

    async def applied_index(self, address: str) -> int:
        self.requests.append(f"applied {address}")
        if address in self.silent:
            raise BaoError("no answer")
        return self.applied[address]


async def observe(servers: Servers, pods: Mapping[str, PodFacts] = PODS) -> ReplicationObservation:
    return await copies_of(servers, NAMES, pods)


async def test_the_index_of_the_leader_is_read_first() -> None:
    servers = ReplicatingServers(x_0=9, x_1=8, x_2=9)
    observation = await observe(servers)
    assert observation == ReplicationObservation(
        [
            ReplicationProgress("x-0", index=9),
            ReplicationProgress("x-1", index=8),
            ReplicationProgress("x-2", index=9),
        ],
        "x-0",
        9,
    )
    requests = [request for request in servers.requests if request.startswith("applied")]
    assert requests[0] == f"applied {ADDRESS['x-0']}", "the index is read before the other servers"


async def test_an_unavailable_server_has_no_index_and_two_leaders_are_none() -> None:
    servers = ReplicatingServers(x_0=9, x_1=9, x_2=9)
    servers.silent = {ADDRESS["x-1"]}
    pods = {**PODS, "x-2": gen.pod(2).ready().terminating().facts()}
    assert [copy.index for copy in (await observe(servers, pods)).copies] == [9, None, None]
    del pods["x-2"]
    assert [copy.index for copy in (await observe(servers, pods)).copies] == [9, None, None]
    assert (await observe(ReplicatingServers(x_0=9, x_1=0, x_2=9))).copies[1].index is None
    servers = ReplicatingServers(x_0=9, x_1=9, x_2=9)
    servers.standby = {ADDRESS["x-2"]}
    observation = await observe(servers)
    assert (observation.leader, observation.reached) == ("", None)


async def test_sealed_servers_are_reported() -> None:
    servers = ReplicatingServers(x_0=0, x_1=0, x_2=0)
    servers.sealed = True
    observation = await observe(servers)
    assert observation == ReplicationObservation(
        [ReplicationProgress(name, sealed=True) for name in NAMES]
    )


def test_surplus_servers_count_while_they_run() -> None:
    """They are restarted, too, and may be needed for a majority."""
    fewer = gen.cluster(replicas=1).read()
    assert list(servers_to_restart(fewer, "x", PODS)) == list(NAMES)
    leaving = {**PODS, "x-2": gen.pod(2).ready().terminating().facts()}
    assert list(servers_to_restart(fewer, "x", leaving)) == ["x-0", "x-1"]
    reader = gen.read_pod(0).ready().facts()
    assert list(servers_to_restart(fewer, "x", {reader.name: reader})) == ["x-0", "x-read-0"]


def test_a_missing_server_is_expected_and_a_fenced_one_is_not() -> None:
    fenced = gen.cluster(replicas=3, fencedPods=["x-2"]).read()
    assert list(servers_to_restart(fenced, "x", {})) == ["x-0", "x-1"]
    stopped = {**PODS, "x-2": gen.pod(2).with_gates().facts()}
    assert list(servers_to_restart(fenced, "x", stopped)) == ["x-0", "x-1"]
    # It runs until it is fenced, which waits for the restore.
    assert list(servers_to_restart(fenced, "x", PODS)) == list(NAMES)
