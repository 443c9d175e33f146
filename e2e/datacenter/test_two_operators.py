"""Two operators: the leader is killed; and, the worst case, both act as the leader.

Each of the two has an account of its own, so that the audit log tells them apart.
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
    install_datacenters,
    removed,
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
# The lease, and what a candidate waits between two looks.
TAKEOVER_WITHIN = 35.0
# The leader is killed before the second service can be ready, even if it tells of the first late.
EVENT_SECONDS, FRONT_DELAY = 5.0, 7
QUIET_SECONDS = 15.0
BASE, FRONT, AGENT = NAMES = ("base", "front", "agent")
CHILDREN = tuple(zip((STATEFUL_SET, DEPLOYMENT, DAEMON_SET), NAMES, strict=True))
RUN_BY = tuple(kind.plural for kind, _ in CHILDREN)
WATCHED = (DATACENTERS.plural, WORKLOADS.plural, *RUN_BY)
MakeDatacenter = Callable[..., DatacenterUnderTest]


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The operator's image."""
    return rig.load_operator_image()


@dataclass(frozen=True, slots=True)
class Two:
    """Two accounts with the same rights, and what is asked by them."""

    launcher: Launcher
    audit: AuditLog
    one: Identity
    other: Identity

    @property
    def both(self) -> tuple[Identity, Identity]:
        """The accounts."""
        return self.one, self.other

    def start(self, who: Identity, *arguments: str) -> Operator:
        """Start an operator that looks after datacenters."""
        return self.launcher.start(who, *arguments, environment=ON)

    def await_requests(self, who: Identity, mark: int, *wanted: tuple[str, str]) -> None:
        """Wait until it has asked for each of these: resource, and verb."""

        def requested() -> bool:
            found = self.audit.since(mark, who.user)
            return {(one.resource, one.verb) for one in found} >= set(wanted)

        until(f"{who.user} asks", requested, 30.0)


@pytest.fixture
def two(
    api: Api, audit: AuditLog, launcher: Launcher, controller: Identity, tmp_path: Path
) -> Iterator[Two]:
    """The account of the operator, and another one; the Lease is free."""
    install_datacenters(api.rig)
    add_account(api, RIVAL)
    allow_datacenters(api, RIVAL)
    api.delete(LEASE, NAMESPACE, LEASE_NAME)
    yield Two(launcher, audit, controller, identity(api.rig, api, tmp_path, RIVAL))
    launcher.stop_all()


@pytest.fixture
def make(api: Api, make_namespace: MakeNamespace) -> Iterator[MakeDatacenter]:
    """Make datacenters that are taken away in any case."""
    made: list[DatacenterUnderTest] = []

    def one(*services: Object) -> DatacenterUnderTest:
        made.append(DatacenterUnderTest(api, f"osl{uuid.uuid4().hex[:6]}", make_namespace()))
        made[-1].create(*services)
        return made[-1]

    yield one
    for datacenter in made:
        removed(api, datacenter)()


def services(image: str, replicas: int = 1, delay: int = 0) -> tuple[Object, ...]:
    """Three services, each of which waits for the one before; one may be ready with a delay."""
    front = sleeper(image, FRONT, replicas=replicas, dependsOn=[BASE])
    if delay:
        look = {"command": ["python3", "-c", ""], "periodSeconds": 1, "timeoutSeconds": 5}
        front["services"][0]["healthCheck"] = {**look, "initialDelaySeconds": delay}
    return (
        sleeper(image, BASE, kind="StatefulSet"),
        front,
        sleeper(image, AGENT, kind="DaemonSet", dependsOn=[FRONT]),
    )


def complete(datacenter: DatacenterUnderTest) -> set[str]:
    """Kind and name of a BootstrapWorkload and an object for each of the three."""
    workloads = {f"{WORKLOADS.kind} {datacenter.name}.{name}" for name in NAMES}
    return workloads | {f"{kind.kind} {datacenter.child(name)}" for kind, name in CHILDREN}


def parts(datacenter: DatacenterUnderTest) -> set[tuple[str, str]]:
    """The same by resource and name, as requests name them."""
    workloads = {(WORKLOADS.plural, f"{datacenter.name}.{name}") for name in NAMES}
    return workloads | {(kind.plural, datacenter.child(name)) for kind, name in CHILDREN}


def of(datacenter: DatacenterUnderTest, entries: list[Entry]) -> list[Entry]:
    """What was written to it, to its BootstrapWorkloads, and in its namespace, whoever did it."""
    ours = (DATACENTERS.plural, WORKLOADS.plural)
    return [
        one
        for one in writes(entries)
        if one.namespace == datacenter.namespace
        or (one.resource in ours and one.name.startswith(datacenter.name))
    ]


def made(entries: list[Entry]) -> Counter[tuple[str, str]]:
    """How often each BootstrapWorkload and each object that runs one was created."""
    kinds = (WORKLOADS.plural, *RUN_BY)
    return Counter(
        (one.resource, one.name)
        for one in entries
        if one.resource in kinds and not one.subresource and one.code == CREATED
    )


@pytest.mark.timeout(300)
def test_another_process_goes_on_where_the_killed_one_was(
    two: Two, make: MakeDatacenter, image: str
) -> None:
    """No object is recreated, no event repeated; in each term only one process writes."""
    begin = two.audit.mark()
    leader = two.start(two.one)
    leader.await_leading()
    standby = two.start(two.other)
    two.await_requests(two.other, begin, (LEASES, "get"))

    datacenter = make(*services(image, delay=FRONT_DELAY))
    killed_within(two, datacenter, leader, begin)
    watch = Stopwatch()
    before = datacenter.identities()
    print("\n".join(f"  {one}" for one in sorted(before)))
    assert complete(datacenter) - before.keys() == {f"DaemonSet {datacenter.child(AGENT)}"}

    until("the other one leads", lambda: standby.logged("became leader"), TAKEOVER_WITHIN)
    print(f"  {watch.seconds:.1f} s: taken over")
    datacenter.await_running()
    print(f"  {watch.seconds:.1f} s: all run")
    after = datacenter.identities()
    assert after.keys() == complete(datacenter)
    assert {name: after[name] for name in before} == before

    datacenter.delete()
    datacenter.await_gone()
    print(f"  {watch.seconds:.1f} s: gone")
    # It sends all that it has to tell before it ends.
    assert standby.stop() == 0
    reasons = {name: Counter(datacenter.event_reasons(name)) for name in NAMES}
    print(f"  told: {reasons}")
    # Nobody tells again what the killed one may not have sent any more.
    assert reasons[FRONT].pop("Started", 0) <= 1
    assert reasons.pop(FRONT) == {"Succeeded": 1, "Retired": 1}
    assert reasons == {name: {"Started": 1, "Succeeded": 1, "Retired": 1} for name in (BASE, AGENT)}
    seen = two.audit.since(begin)
    one_writer_per_term(seen, two)
    assert made(seen) == dict.fromkeys(parts(datacenter), 1)


def killed_within(two: Two, datacenter: DatacenterUnderTest, leader: Operator, mark: int) -> None:
    """Kill the leader: one service runs, the next one has just been made, and one is to come."""

    def halfway() -> bool:
        found = of(datacenter, two.audit.since(mark, two.one.user))
        return (DEPLOYMENT.plural, datacenter.child(FRONT)) in made(found)

    until("the second one is made", halfway, 30.0, every=0.02)
    until(
        "that the first one runs is told",
        lambda: "Succeeded" in datacenter.event_reasons(BASE),
        EVENT_SECONDS,
    )
    leader.faults_expected = True
    leader.kill()
    print(f"\n  killed after: {tally(of(datacenter, two.audit.since(mark, two.one.user)))}")


def one_writer_per_term(entries: list[Entry], two: Two) -> None:
    """The second term begins when the second process gets the lease."""
    leases = [one for one in entries if one.resource == LEASES and one.writes and one.code < 400]
    began = min(one.at for one in leases if one.user == two.other.user)
    late = [one for one in writes(entries) if one.user == two.one.user and one.at >= began]
    early = [one for one in writes(entries) if one.user == two.other.user and one.at <= began]
    assert [str(one) for one in (*late, *early)] == []
    assert {one.user for one in writes(entries)} >= {who.user for who in two.both}


@pytest.mark.timeout(300)
def test_two_processes_that_both_believe_to_lead_do_no_harm(
    two: Two, make: MakeDatacenter, image: str
) -> None:
    """Made, changed and retired by both at once: one set of objects, and then quiet."""
    mark = two.audit.mark()
    for who in two.both:
        two.start(who, NO_ELECTION)
    for who in two.both:
        two.await_requests(who, mark, *((kind, "watch") for kind in WATCHED))
    datacenter, watch = make(*services(image)), Stopwatch()
    datacenter.await_running()
    print(f"\n  {watch.seconds:.1f} s: all run")
    first = datacenter.identities()
    assert first.keys() == complete(datacenter)

    datacenter.change(bootstrapServices=list(services(image, replicas=2)))
    until("there are two pods", lambda: len(datacenter.pods(FRONT)) == 2, 30.0)
    datacenter.await_running()
    print(f"  {watch.seconds:.1f} s: changed")
    quiet(two)
    assert datacenter.identities() == first

    seen = of(datacenter, two.audit.since(mark))
    for who in two.both:
        mine = [one for one in seen if one.user == who.user]
        print(f"  {tally(mine)}; answers {dict(Counter(one.code for one in mine))}")
        assert mine
    assert made(seen) == dict.fromkeys(parts(datacenter), 1)
    assert [str(one) for one in seen if one.verb == "delete"] == []
    reasons = {name: datacenter.event_reasons(name) for name in NAMES}
    assert reasons[AGENT] == reasons[BASE] == ["Started", "Succeeded"]
    # Made, and changed: the same process says the same once in ten minutes.
    assert max(Counter(reasons[FRONT]).values()) <= 2

    datacenter.delete()
    datacenter.await_gone()
    until("nothing is left", lambda: not datacenter.belongings(), 60.0)


def quiet(two: Two) -> None:
    """See that neither writes any more."""
    both = [Requests(two.audit, who.user) for who in two.both]
    for requests in both:
        requests.await_silence()
    mark = two.audit.mark()

    def silent() -> bool:
        return not any(requests.writes_since(mark) for requests in both)

    throughout("neither writes", silent, QUIET_SECONDS, every=1.0)
