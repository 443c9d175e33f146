"""managers.workload.conditions.fenced: the fenced servers, and fences without effect."""

from contracts.conditions.condition import ConditionUpdate
from contracts.pools.fenced_pods import with_effective_fences
from managers.workload.conditions import fenced_condition
from runtime.outcome import Blocked, Done, Outcome
from tests import gen

REVISION = "0123456789abcdef"
OLD = gen.cluster().initialized()
UPGRADED = OLD.with_status(blueGreen={"phase": "Idle", "blueRevision": REVISION})
WORLD = gen.running(OLD)
GATED = WORLD.with_pods(*WORLD.pods[:2], gen.pod(2).with_gates())
REFUSED = Blocked("FencingRefused", "x-2 keeps running")


def condition_update(
    cluster: gen.Cluster, world: gen.World = GATED, outcome: Outcome | None = None
) -> ConditionUpdate | None:
    read = cluster.read()
    return fenced_condition(
        with_effective_fences(read).spec, world.facts(), outcome or Done(), read
    )


def condition_fields(
    cluster: gen.Cluster, world: gen.World = GATED, outcome: Outcome | None = None
) -> tuple[str, str, str]:
    finding = gen.present(condition_update(cluster, world, outcome))
    return finding.status, finding.reason, finding.message


def test_without_fences_there_is_no_condition() -> None:
    assert condition_update(UPGRADED) is None


def test_a_gated_server_has_stopped() -> None:
    assert condition_fields(OLD.with_spec(fencedPods=["x-2"])) == (
        "True", "PodsFenced", "Stopped, with their volumes kept: x-2",
    )  # fmt: skip


def test_a_fence_for_the_former_pool_is_reported() -> None:
    status, reason, message = condition_fields(UPGRADED.with_spec(fencedPods=["x-2"]), WORLD)
    assert (status, reason) == ("False", "FencingRefused")
    assert message.startswith("No server is fenced. x-2 in spec.fencedPods matches no server")
    assert f"named x-{REVISION}-<number>" in message
    assert "correct or remove it" in message


def test_a_fence_for_the_other_pool_hides_no_effective_fence() -> None:
    other = f"x-{REVISION}-1"
    cluster = OLD.with_spec(replicas=5, fencedPods=[other, "x-2"])
    status, reason, message = condition_fields(cluster)
    assert (status, reason) == ("True", "PodsFenced")
    assert message.startswith("Stopped, with their volumes kept: x-2.")
    assert f"{other} in spec.fencedPods matches no server" in message
    assert condition_fields(cluster, WORLD)[:2] == ("False", "Fencing")
    assert condition_fields(cluster, WORLD, REFUSED)[2].startswith("x-2 keeps running.")


def test_a_fence_waits_for_the_end_of_an_upgrade_by_a_green_pool() -> None:
    going = OLD.with_status(blueGreen={"phase": "Syncing", "greenRevision": REVISION})
    status, reason, message = condition_fields(going.with_spec(fencedPods=["x-2"]), WORLD)
    assert (status, reason) == ("False", "Fencing")
    assert message == "x-2 will be stopped after the blue/green upgrade"
