"""Blue/green upgrades of three servers, under load: one that completes, one that is rolled back.

The releases are real: the first upgrade changes the minor version, the second one only the patch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson
import pytest

from contracts.naming import names
from contracts.records.bluegreen_phases import (
    ACTIONS,
    CLEANUP,
    DEMOTING,
    DEPLOYING,
    IDLE,
    JOINING,
    PROMOTING,
    ROLLBACK_CLEANUP,
    ROLLING_BACK,
    SYNCING,
)
from e2e.conftest import MakeNamespace
from e2e.demo import table
from e2e.demo.objects import Object, condition, name_of, status_of
from e2e.harness.audit import AuditLog, refusals
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.takeover import (
    Takeover,
    await_cost,
    blue_before_cleanup,
    claims_of,
    events,
    green_pool,
    hook,
    is_idle,
    members,
    pod_names,
    serving_pool,
    stateful_sets,
    taking_over,
    with_blue_green,
)
from e2e.harness.two_pools import HEADERS, TwoPools, blue_green, row
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import Requests, change
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import CONFIG_MAP

NAME = "whole"
SIZE = 3
FIRST, SECOND, THIRD = OPENBAO_UPGRADES[:3]
ABSENT = f"localhost/nowhere/openbao:{THIRD}"
KEPT_SECONDS = 3
ORDER = [DEPLOYING, JOINING, SYNCING, PROMOTING, DEMOTING, CLEANUP, IDLE]
WORK = [ACTIONS[phase] for phase in ORDER if phase in ACTIONS]
# The budgets of a client that does not retry (issue: upgrades).
GAP_SECONDS = 3.0
FINISHED_SECONDS = 120.0
QUIET_SECONDS, STILL_SECONDS = 20.0, 5.0
HOLD = "BlueGreenHold"


@dataclass(slots=True)
class Operators:
    """The operator of the cluster, which is replaced by another one after a crash."""

    launcher: Launcher
    identity: Identity
    image: str
    at_work: list[Operator] = field(default_factory=list)

    def start(self) -> Operator:
        """Start an operator with its own image in the environment."""
        environment = {"OPERATOR_IMAGE": self.image}
        operator = self.launcher.start(self.identity, NO_ELECTION, environment=environment)
        self.at_work.append(operator)
        return operator

    def crash(self) -> None:
        """Kill the running operator, as the loss of a node does."""
        self.at_work.pop().kill()


@pytest.fixture(scope="module")
def operators(
    rig: Rig, launcher: Launcher, audit: AuditLog, controller: Identity
) -> Iterator[Operators]:
    """An operator that can be killed; fails if the API server refuses a request of any of them."""
    mark = audit.mark()
    operators = Operators(launcher, controller, rig.load_operator_image())
    operators.start()
    yield operators
    (last,) = operators.at_work
    assert last.alive, last.tail()
    assert not (no := refusals(audit.since(mark, controller.user))), "\n".join(map(str, no))


@pytest.fixture(scope="module")
def cluster(rig: Rig, api: Api, make_namespace: MakeNamespace, operators: Operators) -> Cluster:
    """Three voters of the first version with retained volumes, and a login for clients."""
    rig.load_openbao(OPENBAO_UPGRADES)
    judged = {"verification": {"prePromotionHook": hook(0)}}
    upgrade = with_blue_green(autoCleanup=False, **retention_of_blue(KEPT_SECONDS), **judged)
    fields = {"version": FIRST, "upgrade": upgrade, "deletionPolicy": "Retain"}
    return steady_voters(api, make_namespace(), NAME, **fields)


@pytest.mark.timeout(600)
def test_a_green_pool_takes_over_and_no_write_is_lost(cluster: Cluster, requests: Requests) -> None:
    """A hook approves it. A user approves the removal of blue.

    A server of 2.6 cannot lead after one of 2.7, so a rollback is refused once green leads.
    """
    requests.settle(cluster)
    mark = requests.mark()
    with taking_over(cluster) as takeover, ServiceWriter(cluster, reads_back=True) as writer:
        change(cluster, {"version": SECOND})
        operation = takeover.await_phase(SYNCING)["operationID"]
        assert len(cluster.pods()) == 2 * SIZE
        ids = cluster.cluster_ids()
        takeover.await_state(
            "the removal of blue is held", lambda: cluster_waiting_for_approval(cluster), 90.0
        )
        change(cluster, {"upgrade": {"requests": {"rollback": "refused"}}})
        takeover.await_state("the refusal", lambda: refusal(cluster), 20.0)
        change(cluster, {"upgrade": {"requests": {"cleanup": "approved"}}})
        cost = await_cost(takeover, writer, requests, mark, f"{SECOND}, with a hook")
    print("\n" + table.plain(HEADERS, [row(cost.figures, cost.pools)]))
    assert list(cost.pools.hook_runs(operation).values()) == [1]
    assert events(cluster, "BlueGreenCleanupApproved")
    assert len(ids) == 1, ids
    assert ids == cluster.cluster_ids()
    assert_in_order(cost.pools)
    assert_clients_switch_once(cost.pools)
    assert_blue_stays_until_cleanup(cost.pools)
    assert_green_alone_is_left(cluster, cost.pools, SECOND)
    assert writer.lost() == []
    assert writer.missed == []
    budget("takeover: longest gap", cost.figures.gap, GAP_SECONDS, "s")
    budget("takeover: finished", cost.figures.seconds, FINISHED_SECONDS, "s")


def assert_in_order(pools: TwoPools) -> None:
    """Each phase occurs once, and each of its Jobs succeeds at the first attempt."""
    assert [phase.name for phase in pools.phases()] == ORDER
    assert pools.actions() == WORK


def assert_clients_switch_once(pools: TwoPools) -> None:
    """From the first green server on, the Service selects one pool at a time."""
    turns = pools.selections(names.public_service(NAME))
    assert [selector.revisions for selector in turns] == [
        {pools.blue.revision},
        {pools.green.revision},
    ], turns
    switched = pools.began(DEMOTING)
    assert switched is not None
    assert turns[-1].at > switched


def assert_blue_stays_until_cleanup(pools: TwoPools) -> None:
    """No blue server is stopped before green leads, and no green server is replaced."""
    cleanup = pools.began(CLEANUP)
    assert cleanup is not None
    blue, green = pools.lives(pools.blue), pools.lives(pools.green)
    assert {life.name for life in blue} == pod_names(pools.blue, SIZE)
    assert {life.name for life in green} == pod_names(pools.green, SIZE)
    assert len(blue) == len(green) == SIZE
    for life in blue:
        assert (life.created_at, life.restarts) == (None, 0), life
        assert life.terminating_at is not None
        assert life.terminating_at > cleanup
    assert [life.restarts for life in green] == [0] * SIZE
    assert [life.terminating_at for life in green] == [None] * SIZE


def assert_green_alone_is_left(cluster: Cluster, pools: TwoPools, version: str) -> None:
    """Only green has voters, and the status reports a completed upgrade."""
    blue, green = pools.blue, pools.green
    assert stateful_sets(cluster) == {green.stateful_set}
    assert members(cluster) == dict.fromkeys(pod_names(green, SIZE), True)
    pods = cluster.pods()
    assert {name_of(pod) for pod in pods} == pod_names(green, SIZE)
    assert {image_of(pod) for pod in pods} == {openbao_reference(version)}
    assert {cluster.server(name_of(pod)).health()["version"] for pod in pods} == {version}
    kept = claims_of(cluster, blue)
    assert kept == {blue.data_claim(ordinal) for ordinal in range(SIZE)}
    notes = "\n".join(events(cluster, "UpgradeComplete"))
    assert all(name in notes for name in kept), notes
    assert (CONFIG_MAP.kind, blue.config_map) not in cluster.belongings((CONFIG_MAP,))
    status = cluster.live()["status"]
    assert status["blueGreen"]["blueRevision"] == green.revision
    assert not status["blueGreen"].get("greenRevision")
    assert status["currentVersion"] == version
    assert status["release"] == {"version": version}
    assert "operationLock" not in status
    assert cluster.condition("RaftMembershipReady", "True", "AllVoters") is not None
    assert cluster.condition("Available", "True") is not None
    assert cluster.condition("Upgrading", "False", "Idle") is not None
    assert cluster.condition("Degraded", "False") is not None


@pytest.mark.timeout(200)
def test_nothing_is_written_after_the_upgrade(cluster: Cluster, requests: Requests) -> None:
    requests.settle(cluster)
    requests.assert_silent(QUIET_SECONDS)


@pytest.mark.timeout(600)
def test_green_waits_for_approval_despite_spec_edits_and_a_crash(
    cluster: Cluster, requests: Requests, operators: Operators
) -> None:
    """An early approval has no effect; edits of the spec, and a restarted operator, wait."""
    by_hand = {"autoPromote": False, "autoCleanup": False}
    change(cluster, {"upgrade": with_blue_green(**by_hand, **retention_of_blue(KEPT_SECONDS))})
    requests.settle(cluster)
    former = serving_pool(cluster)
    with taking_over(cluster) as takeover, ServiceWriter(cluster, reads_back=True) as writer:
        change(cluster, {"version": THIRD})
        takeover.await_phase(DEPLOYING)
        change(cluster, {"upgrade": {"requests": {"promote": "too-early"}}})
        takeover.await_state(
            "the early request is handled", lambda: promotion_request(cluster, "too-early"), 20
        )
        takeover.await_state(
            "the upgrade is held", lambda: cluster_waiting_for_approval(cluster), 60.0
        )
        change(cluster, {"replicas": SIZE + 2, "image": ABSENT})
        assert_held_still(takeover, requests, SYNCING)
        operators.crash()
        operators.start()
        assert_held_still(takeover, requests, SYNCING)
        change(cluster, {"upgrade": {"requests": {"promote": "now"}}})
        takeover.await_phase(DEMOTING)
        change(cluster, {"replicas": SIZE, "image": None})
        takeover.await_state("blue is kept", lambda: blue_before_cleanup(cluster), 60.0)
        takeover.await_state(
            "its removal is held", lambda: cluster_waiting_for_approval(cluster), 60.0
        )
        assert_held_still(takeover, requests, DEMOTING)
        pools = takeover.pools
    print(f"\n  {pools.timeline()}\n  {writer.describe()}")
    blue, green = pools.blue, pools.green
    assert former == blue != green
    assert promotion_request(cluster, "now")
    assert events(cluster, "BlueGreenPromotionApproved")
    assert [phase.name for phase in pools.phases()] == ORDER[: ORDER.index(CLEANUP)]
    assert pools.actions() == WORK[:-1]
    assert_frozen(pools)
    assert_clients_switch_once(pools)
    assert_no_server_of_blue_was_touched(pools)
    assert members(cluster) == {
        **dict.fromkeys(pod_names(blue, SIZE), False),
        **dict.fromkeys(pod_names(green, SIZE), True),
    }
    assert writer.lost() == []
    assert writer.missed == []


@pytest.mark.timeout(300)
def test_a_rollback_is_possible_while_blue_is_retained(
    cluster: Cluster, requests: Requests
) -> None:
    """Green leads by then and serves all clients. The upgrade is not retried without a request."""
    watch = Stopwatch()
    with taking_over(cluster) as takeover, ServiceWriter(cluster, reads_back=True) as writer:
        blue, green = serving_pool(cluster), green_pool(cluster)
        change(cluster, {"upgrade": {"requests": {"rollback": "back-1"}}})
        takeover.await_phase(ROLLBACK_CLEANUP)
        takeover.await_idle()
        pools = takeover.pools
    print(f"\n  rolled back in {watch.seconds:.1f} s: {pools.timeline()}\n  {writer.describe()}")
    assert [phase.name for phase in pools.phases()][-3:] == [ROLLING_BACK, ROLLBACK_CLEANUP, IDLE]
    turns = [selector.revisions for selector in pools.selections(names.public_service(NAME))]
    assert turns == [{green.revision}, {blue.revision}]
    assert_no_server_of_blue_was_touched(pools)
    assert stateful_sets(cluster) == {blue.stateful_set}
    assert {name_of(pod) for pod in cluster.pods()} == pod_names(blue, SIZE)
    assert members(cluster) == dict.fromkeys(pod_names(blue, SIZE), True)
    until("the volumes of green are gone", lambda: not claims_of(cluster, green), 10.0)
    status = cluster.live()["status"]
    assert status["upgradeRequests"]["lastHandledRollback"] == "back-1"
    assert status["release"] == {"version": SECOND}
    assert status["currentVersion"] == SECOND
    assert status["blueGreen"]["failedRevision"] == green.revision
    cluster.await_condition("Upgrading", "False", "UpgradeRollback", seconds=10.0)
    assert events(cluster, "RollbackStarted")
    requests.await_silence()
    throughout("the upgrade is not retried", lambda: is_idle(cluster), STILL_SECONDS)
    assert writer.lost() == []
    assert writer.missed == []


def retention_of_blue(seconds: int) -> dict[str, object]:
    """Return the settings that retain blue for a while once green leads."""
    return {"autoRollback": {"stabilizationSeconds": seconds}}


def promotion_request(cluster: Cluster, word: str) -> Object | None:
    """Return status.upgradeRequests once the promotion with this token is handled."""
    done: Object = status_of(cluster.live()).get("upgradeRequests") or {}
    return done if done.get("lastHandledPromote") == word else None


def refusal(cluster: Cluster) -> Object | None:
    """Return status.blueGreen once a rollback was refused; the phase must stay."""
    notes = events(cluster, "RollbackRefused")
    assert all("cannot become the leader" in note for note in notes), notes
    return blue_green(cluster.live()) if notes else None


def cluster_waiting_for_approval(cluster: Cluster) -> Object | None:
    """Return the cluster while it reports that it waits for an approval."""
    live = cluster.live()
    upgrading = condition(live, "Upgrading") or {}
    return live if (upgrading.get("status"), upgrading.get("reason")) == ("True", HOLD) else None


def assert_held_still(takeover: Takeover, requests: Requests, phase: str) -> None:
    """Check for some time that only the status is written."""
    cluster = takeover.cluster
    mark = requests.mark()
    until("an operator sends requests", lambda: requests.since(mark), 20.0)
    requests.await_silence()
    mark = requests.mark()
    throughout(
        "the upgrade is held", lambda: cluster_waiting_for_approval(cluster) is not None, 4.0
    )
    sent = [entry for entry in requests.writes_since(mark) if entry.subresource != "status"]
    assert not sent, "\n".join(map(str, sent))
    assert blue_green(cluster.live())["phase"] == phase
    actions = [ACTIONS[step] for step in ORDER[: ORDER.index(phase) + 1] if step in ACTIONS]
    assert takeover.pools.actions() == actions


def assert_no_server_of_blue_was_touched(pools: TwoPools) -> None:
    """The blue pods are the same as before, and none of them was restarted."""
    blue_pods = pools.lives(pools.blue)
    assert {life.name for life in blue_pods} == pod_names(pools.blue, SIZE)
    for life in blue_pods:
        assert (life.created_at, life.restarts, life.terminating_at) == (None, 0, None), life


def assert_frozen(pools: TwoPools) -> None:
    """No Job and no StatefulSet of the attempt has the edits made during the upgrade."""
    both = (pools.blue, pools.green)
    for obj in (
        *pools.jobs().values(),
        *(stateful_set for each in both for stateful_set in pools.stateful_sets(each)),
    ):
        text = orjson.dumps(obj).decode()
        assert ABSENT not in text
        assert not any(each.pod(SIZE) in text for each in both)
    sizes = {stateful_set["spec"]["replicas"] for stateful_set in pools.stateful_sets(pools.green)}
    assert sizes == {SIZE}
