"""Three servers are brought from 2.4.0 past 2.6.0, where the forwarding service was renamed.

The autopilot of a leader on one side hears nothing of a follower on the other side: such a follower
is judged by its own log (contracts.server_features.reports_health).
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from e2e.conftest import MakeNamespace
from e2e.demo import table
from e2e.demo.objects import name_of
from e2e.harness.bao import AUDIENCE
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import CLIENT, SECRETS, STEADFAST
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import Requests, change, recorded
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO, OPENBAO_OLDEST, OPENBAO_PREVIOUS

READ_BACK_WRITES = 60
HEADERS = ("pair", "strategy", "seconds", "longest gap", "writes", "failed", "lost")


class Outcome(NamedTuple):
    """What one upgrade cost a client that tries each write once."""

    pair: str
    seconds: float
    writer: ServiceWriter

    def row(self) -> tuple[str, ...]:
        """The cells under HEADERS."""
        writer = self.writer
        counts = (len(writer.writes), len(writer.failed), len(writer.lost()))
        seconds = (f"{self.seconds:.1f} s", f"{writer.longest_gap:.2f} s")
        return (self.pair, "RollingUpdate", *seconds, *map(str, counts))


class Operators:
    """Starts one operator after the other: the last one is killed without warning."""

    def __init__(self, rig: Rig, launcher: Launcher, identity: Identity) -> None:
        self._launcher, self._identity = launcher, identity
        self._environment = {"OPERATOR_IMAGE": rig.load_operator_image()}
        self._running = self._start()

    def crash(self) -> None:
        """Kill the operator, and start another one."""
        self._running.faults_expected = True
        self._running.kill()
        self._running = self._start()

    def _start(self) -> Operator:
        return self._launcher.start(self._identity, NO_ELECTION, environment=self._environment)


@pytest.fixture(scope="module")
def operators(rig: Rig, launcher: Launcher, controller: Identity) -> Operators:
    """The operators of this scenario."""
    rig.load_openbao((OPENBAO_OLDEST, OPENBAO_PREVIOUS, OPENBAO))
    return Operators(rig, launcher, controller)


@pytest.fixture(scope="module")
def outcomes() -> Iterator[list[Outcome]]:
    """What each upgrade cost; printed at the end."""
    made: list[Outcome] = []
    yield made
    print("\n" + table.plain(HEADERS, [one.row() for one in made]))


def bring_up(api: Api, make_namespace: MakeNamespace, name: str) -> Cluster:
    return steady_voters(
        api, make_namespace(), name, version=OPENBAO_OLDEST, configuration=STEADFAST
    )


@pytest.mark.timeout(600)
def test_an_operator_that_dies_on_the_way_is_followed_by_one_that_ends_it(
    api: Api,
    make_namespace: MakeNamespace,
    operators: Operators,
    requests: Requests,
    outcomes: list[Outcome],
) -> None:
    cluster = bring_up(api, make_namespace, "previous")
    requests.settle(cluster)
    with recorded(cluster) as record, ServiceWriter(cluster) as writer:
        change(cluster, {"version": OPENBAO_PREVIOUS})
        record.await_first_touch()
        operators.crash()
        seconds = record.await_finished(OPENBAO_PREVIOUS)
        requests.settle(cluster)
    outcomes.append(Outcome(f"{OPENBAO_OLDEST} to {OPENBAO_PREVIOUS}", seconds, writer))
    assert_all_run(cluster, OPENBAO_PREVIOUS)
    assert writer.lost() == []


@pytest.mark.timeout(900)
def test_it_can_be_taken_back_on_the_way_and_be_done_again(
    api: Api,
    make_namespace: MakeNamespace,
    operators: Operators,
    requests: Requests,
    outcomes: list[Outcome],
) -> None:
    cluster = bring_up(api, make_namespace, "newest")
    requests.settle(cluster)
    with recorded(cluster) as record, ServiceWriter(cluster) as writer:
        change(cluster, {"version": OPENBAO})
        record.await_first_touch()
        change(cluster, {"version": OPENBAO_OLDEST})
        requests.settle(cluster)
        back = writer
    assert_all_run(cluster, OPENBAO_OLDEST)
    assert back.lost() == []
    with recorded(cluster) as record, ServiceWriter(cluster) as writer:
        change(cluster, {"version": OPENBAO})
        seconds = record.await_finished(OPENBAO)
        requests.settle(cluster)
    outcomes.append(Outcome(f"{OPENBAO_OLDEST} to {OPENBAO}", seconds, writer))
    assert_all_run(cluster, OPENBAO)
    assert writer.lost() == []
    assert_a_client_reads_what_it_wrote(cluster)


def assert_a_client_reads_what_it_wrote(cluster: Cluster) -> None:
    """At once, whichever server it asks: standbys forward reads to the leader."""
    leader = cluster.server(name_of(until("a server leads", cluster.leader, 30.0)))
    token = leader.login(CLIENT, cluster.api.token(cluster.namespace, CLIENT, AUDIENCE))
    path = f"{SECRETS}/read-back"
    for number in range(READ_BACK_WRITES):
        value = {"value": str(number)}
        leader.post(path, token, value)
        answers = [cluster.server(ordinal).get(path, token)["data"] for ordinal in range(3)]
        assert answers == [value] * 3


def assert_all_run(cluster: Cluster, version: str) -> None:
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(version)}
    assert {cluster.server(number).health()["version"] for number in range(3)} == {version}
