"""Two operators: the leader is killed; or, in the worst case, both act as the leader.

Each has its own ServiceAccount, so that the audit log distinguishes their requests.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import sleeper
from e2e.harness.audit import LEASES, AuditLog, Entry, tally, writes
from e2e.harness.datacenters import (
    ON,
    DatacenterUnderTest,
    allow_datacenters,
    cleanup_of,
    install_datacenters,
)
from e2e.harness.installation import NAMESPACE, Identity, add_account, identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.rights import CREATED
from e2e.harness.upgrades import Requests
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT, LEASE, STATEFUL_SET
from runtime.types import Object

RIVAL = "openbao-operator-rival"
LEASE_NAME = "openbao-operator"
# The duration of the Lease, and the retry period of a candidate.
TAKEOVER_WITHIN = 35.0
# The second service is ready only after the kill of the leader, even if the first event is late.
EVENT_SECONDS, FRONT_DELAY = 5.0, 7
QUIET_SECONDS = 15.0
BASE, FRONT, AGENT = NAMES = ("base", "front", "agent")
CHILDREN = tuple(zip((STATEFUL_SET, DEPLOYMENT, DAEMON_SET), NAMES, strict=True))
RUN_BY = tuple(kind.plural for kind, _ in CHILDREN)
WATCHED = (DATACENTERS.plural, WORKLOADS.plural, *RUN_BY)
MakeDatacenter = Callable[..., DatacenterUnderTest]


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The image of the operator."""
    return rig.load_operator_image()


@dataclass(frozen=True, slots=True)
class OperatorPair:
    """Two ServiceAccounts with the same rights, and the audit log of their requests."""

    launcher: Launcher
    audit: AuditLog
    first: Identity
    other: Identity

    @property
    def accounts(self) -> tuple[Identity, Identity]:
        """Both ServiceAccounts."""
        return self.first, self.other

    def start(self, account: Identity, *arguments: str) -> Operator:
        """Start an operator that manages datacenters."""
        return self.launcher.start(account, *arguments, environment=ON)

    def await_requests(self, account: Identity, mark: int, *expected: tuple[str, str]) -> None:
        """Wait until it has sent each of these requests: resource and verb."""

        def is_requested() -> bool:
            entries = self.audit.since(mark, account.user)
            return {(request.resource, request.verb) for request in entries} >= set(expected)

        until(f"{account.user} has sent {expected}", is_requested, 30.0)


@pytest.fixture
def pair(
    api: Api, audit: AuditLog, launcher: Launcher, controller: Identity, tmp_path: Path
) -> Iterator[OperatorPair]:
    """The ServiceAccount of the operator, and another one; the Lease is deleted."""
    install_datacenters(api.rig)
    add_account(api, RIVAL)
    allow_datacenters(api, RIVAL)
    api.delete(LEASE, NAMESPACE, LEASE_NAME)
    yield OperatorPair(launcher, audit, controller, identity(api.rig, api, tmp_path, RIVAL))
    launcher.stop_all()


@pytest.fixture
def make(api: Api, make_namespace: MakeNamespace) -> Iterator[MakeDatacenter]:
    """Create datacenters, and delete them at the end."""
    datacenters: list[DatacenterUnderTest] = []

    def create(*services: Object) -> DatacenterUnderTest:
        datacenters.append(DatacenterUnderTest(api, f"osl{uuid.uuid4().hex[:6]}", make_namespace()))
        datacenters[-1].create(*services)
        return datacenters[-1]

    yield create
    for datacenter in datacenters:
        cleanup_of(api, datacenter)()


def services(image: str, replicas: int = 1, delay: int = 0) -> tuple[Object, ...]:
    """Three services, each of which depends on the one before; `delay` is for the second."""
    front = sleeper(image, FRONT, replicas=replicas, dependsOn=[BASE])
    if delay:
        check = {"command": ["python3", "-c", ""], "periodSeconds": 1, "timeoutSeconds": 5}
        front["services"][0]["healthCheck"] = {**check, "initialDelaySeconds": delay}
    return (
        sleeper(image, BASE, kind="StatefulSet"),
        front,
        sleeper(image, AGENT, kind="DaemonSet", dependsOn=[FRONT]),
    )


def expected_objects(datacenter: DatacenterUnderTest) -> set[str]:
    """Kind and name of a BootstrapWorkload and an object for each of the three."""
    workloads = {f"{WORKLOADS.kind} {datacenter.name}.{name}" for name in NAMES}
    return workloads | {f"{kind.kind} {datacenter.child(name)}" for kind, name in CHILDREN}


def expected_requests(datacenter: DatacenterUnderTest) -> set[tuple[str, str]]:
    """The same objects by resource and name, as in requests."""
    workloads = {(WORKLOADS.plural, f"{datacenter.name}.{name}") for name in NAMES}
    return workloads | {(kind.plural, datacenter.child(name)) for kind, name in CHILDREN}


def writes_to(datacenter: DatacenterUnderTest, entries: list[Entry]) -> list[Entry]:
    """The writes of all users to it, to its BootstrapWorkloads, and in its namespace."""
    ours = (DATACENTERS.plural, WORKLOADS.plural)
    return [
        entry
        for entry in writes(entries)
        if entry.namespace == datacenter.namespace
        or (entry.resource in ours and entry.name.startswith(datacenter.name))
    ]


def creations(entries: list[Entry]) -> Counter[tuple[str, str]]:
    """Count the creations of each BootstrapWorkload and of each workload."""
    kinds = (WORKLOADS.plural, *RUN_BY)
    return Counter(
        (entry.resource, entry.name)
        for entry in entries
        if entry.resource in kinds and not entry.subresource and entry.code == CREATED
    )


@pytest.mark.timeout(300)
def test_the_standby_continues_the_work_of_a_killed_leader(
    pair: OperatorPair, make: MakeDatacenter, image: str
) -> None:
    """No object is created twice, no event repeated; in each term only one process writes."""
    begin = pair.audit.mark()
    leader = pair.start(pair.first)
    leader.await_leading()
    standby = pair.start(pair.other)
    pair.await_requests(pair.other, begin, (LEASES, "get"))

    datacenter = make(*services(image, delay=FRONT_DELAY))
    kill_halfway(pair, datacenter, leader, begin)
    watch = Stopwatch()
    before = datacenter.identities()
    print("\n".join(f"  {request}" for request in sorted(before)))
    assert expected_objects(datacenter) - before.keys() == {f"DaemonSet {datacenter.child(AGENT)}"}

    until(
        "the standby becomes the leader",
        lambda: standby.has_logged("became leader"),
        TAKEOVER_WITHIN,
    )
    print(f"  {watch.seconds:.1f} s: the standby leads")
    datacenter.await_running()
    print(f"  {watch.seconds:.1f} s: all services run")
    after = datacenter.identities()
    assert after.keys() == expected_objects(datacenter)
    assert {name: after[name] for name in before} == before

    datacenter.delete()
    datacenter.await_gone()
    print(f"  {watch.seconds:.1f} s: gone")
    # It sends all pending events before it exits.
    assert standby.stop() == 0
    reasons = {name: Counter(datacenter.event_reasons(name)) for name in NAMES}
    print(f"  events: {reasons}")
    # The standby does not repeat an event that the killed process may not have sent.
    assert reasons[FRONT].pop("Started", 0) <= 1
    assert reasons.pop(FRONT) == {"Succeeded": 1, "Retired": 1}
    assert reasons == {name: {"Started": 1, "Succeeded": 1, "Retired": 1} for name in (BASE, AGENT)}
    entries = pair.audit.since(begin)
    one_writer_per_term(entries, pair)
    assert creations(entries) == dict.fromkeys(expected_requests(datacenter), 1)


def kill_halfway(
    pair: OperatorPair, datacenter: DatacenterUnderTest, leader: Operator, mark: int
) -> None:
    """Kill the leader when the first service runs and the second has just been created."""

    def halfway() -> bool:
        entries = writes_to(datacenter, pair.audit.since(mark, pair.first.user))
        return (DEPLOYMENT.plural, datacenter.child(FRONT)) in creations(entries)

    until("the second service is created", halfway, 30.0, every=0.02)
    until(
        "the first service has an event Succeeded",
        lambda: "Succeeded" in datacenter.event_reasons(BASE),
        EVENT_SECONDS,
    )
    leader.faults_expected = True
    leader.kill()
    print(
        f"\n  killed after: {tally(writes_to(datacenter, pair.audit.since(mark, pair.first.user)))}"
    )


def one_writer_per_term(entries: list[Entry], pair: OperatorPair) -> None:
    """Check that the first process writes before the second gets the Lease, and never after."""
    leases = [
        entry for entry in entries if entry.resource == LEASES and entry.writes and entry.code < 400
    ]
    began = min(entry.at for entry in leases if entry.user == pair.other.user)
    late = [
        entry for entry in writes(entries) if entry.user == pair.first.user and entry.at >= began
    ]
    early = [
        entry for entry in writes(entries) if entry.user == pair.other.user and entry.at <= began
    ]
    assert [str(entry) for entry in (*late, *early)] == []
    assert {entry.user for entry in writes(entries)} >= {account.user for account in pair.accounts}


@pytest.mark.timeout(300)
def test_two_active_leaders_create_one_set_of_objects(
    pair: OperatorPair, make: MakeDatacenter, image: str
) -> None:
    """Both create, change and retire at the same time; afterwards neither writes."""
    mark = pair.audit.mark()
    for account in pair.accounts:
        pair.start(account, NO_ELECTION)
    for account in pair.accounts:
        pair.await_requests(account, mark, *((kind, "watch") for kind in WATCHED))
    datacenter, watch = make(*services(image)), Stopwatch()
    datacenter.await_running()
    print(f"\n  {watch.seconds:.1f} s: all services run")
    first = datacenter.identities()
    assert first.keys() == expected_objects(datacenter)

    datacenter.change(bootstrapServices=list(services(image, replicas=2)))
    until("there are two pods", lambda: len(datacenter.pods(FRONT)) == 2, 30.0)
    datacenter.await_running()
    print(f"  {watch.seconds:.1f} s: changed")
    assert_no_writes(pair)
    assert datacenter.identities() == first

    entries = writes_to(datacenter, pair.audit.since(mark))
    for account in pair.accounts:
        sent = [entry for entry in entries if entry.user == account.user]
        print(f"  {tally(sent)}; codes {dict(Counter(entry.code for entry in sent))}")
        assert sent
    assert creations(entries) == dict.fromkeys(expected_requests(datacenter), 1)
    assert [str(entry) for entry in entries if entry.verb == "delete"] == []
    reasons = {name: datacenter.event_reasons(name) for name in NAMES}
    assert reasons[AGENT] == reasons[BASE] == ["Started", "Succeeded"]
    # Created, and changed: a process repeats an event at most once in ten minutes.
    assert max(Counter(reasons[FRONT]).values()) <= 2

    datacenter.delete()
    datacenter.await_gone()
    until("all objects are deleted", lambda: not datacenter.belongings(), 60.0)


def assert_no_writes(pair: OperatorPair) -> None:
    """Check that neither process writes."""
    counters = [Requests(pair.audit, account.user) for account in pair.accounts]
    for requests in counters:
        requests.await_silence()
    mark = pair.audit.mark()

    def silent() -> bool:
        return not any(requests.writes_since(mark) for requests in counters)

    throughout("neither operator writes", silent, QUIET_SECONDS, every=1.0)
