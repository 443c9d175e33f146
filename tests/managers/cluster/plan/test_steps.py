"""managers.cluster.plan.steps: how the steps are merged into one plan, and what gates the pods."""

import pytest

from contracts.naming import names
from contracts.records.desired import Desired
from managers.cluster.plan.steps import FOUNDATION, WORKLOAD, merge_plans
from runtime.builtin_kinds import CONFIG_MAP, POD_DISRUPTION_BUDGET, STATEFUL_SET
from runtime.outcome import Blocked, Done, Wait, combine
from tests import gen
from tests.gen.worlds import with_good_secrets

FRESH = gen.cluster()
RUNNING = gen.cluster().initialized()
WORLD = gen.running(RUNNING)


def fold_steps(cluster: gen.Cluster, world: gen.World) -> Desired:
    return merge_plans(gen.resolved(cluster, world), world.facts())


def test_the_steps_are_named_once_and_keys_come_first() -> None:
    names_of_steps = [step.name for step in (*FOUNDATION, WORKLOAD)]
    assert names_of_steps[:3] == ["bootstrap", "audit", "certs"]
    assert names_of_steps[-1] == "workload"
    assert len(set(names_of_steps)) == len(list(filter(None, names_of_steps)))


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_a_running_cluster_needs_no_effect(replicas: int) -> None:
    cluster = RUNNING.with_spec(replicas=replicas)
    desired = fold_steps(cluster, gen.running(cluster))
    assert desired.effects == ()
    assert isinstance(combine(*desired.outcomes), Done)
    assert desired.complete


def test_no_object_is_planned_twice() -> None:
    for cluster, world in ((RUNNING, WORLD), (FRESH, ready_to_boot(FRESH))):
        keys = [(intent.resource, intent.key) for intent in fold_steps(cluster, world).intents]
        assert len(keys) == len(set(keys))


def ready_to_boot(cluster: gen.Cluster) -> gen.World:
    """The world after the secrets of the first boot were generated."""
    return with_good_secrets(cluster, gen.world())


def test_the_first_plan_generates_all_secrets_and_starts_no_pod() -> None:
    desired = fold_steps(FRESH, gen.world())
    assert desired.workload == ()
    assert not desired.complete
    drawn = {"draw-unseal-key", "draw-root-token", "issue-authority"}
    assert {effect.name for effect in desired.effects} == drawn
    assert gen.expect(Wait, combine(*desired.outcomes)).after == 0.0


def test_pods_start_when_all_secrets_exist() -> None:
    desired = fold_steps(FRESH, ready_to_boot(FRESH))
    kinds = {intent.resource for intent in desired.workload}
    assert kinds == {STATEFUL_SET, POD_DISRUPTION_BUDGET}
    assert desired.effects == ()
    assert desired.complete


def test_the_first_boot_secret_is_not_planned_after_initialization() -> None:
    document = (CONFIG_MAP, (gen.NAMESPACE, names.self_init_config_map("x")))

    def wants_it(desired: Desired) -> bool:
        return document in {(intent.resource, intent.key) for intent in desired.intents}

    assert wants_it(fold_steps(FRESH, ready_to_boot(FRESH)))
    assert not wants_it(fold_steps(RUNNING, WORLD))


# sentence: (world, whether the pods are gated, the reported reason)
GATES: dict[str, tuple[gen.World, bool, str]] = {
    "a lost key blocks the pods": (WORLD.without_secrets("x-unseal-key"), True, "UnsealKeyMissing"),
    "a lost CA blocks nothing": (WORLD.without_secrets("x-tls-ca"), False, "CASecretMissing"),
    "a lost certificate": (WORLD.without_secrets("x-tls-server"), True, "PrerequisitesMissing"),
    "a lost root token blocks nothing": (WORLD.without_secrets("x-root-token"), False, ""),
    "a foreign CA blocks the pods": (
        WORLD.with_secrets(gen.secret("x-tls-ca", of="Shop s (uid 1)")),
        True,
        "ForeignObject",
    ),
}


@pytest.mark.parametrize(("world", "is_held", "reason"), GATES.values(), ids=GATES)
def test_gate(world: gen.World, is_held: bool, reason: str) -> None:
    desired = fold_steps(RUNNING, world)
    assert (desired.workload == ()) is is_held
    # Objects outside an incomplete plan may still be desired.
    assert desired.complete is not is_held
    answer = combine(*desired.outcomes)
    assert ("" if isinstance(answer, Done) else answer.reason) == reason


def test_a_gate_does_not_affect_the_other_steps() -> None:
    whole = fold_steps(RUNNING, WORLD)
    held = fold_steps(RUNNING, WORLD.without_secrets("x-unseal-key"))
    # Except config.hcl: a server that restarts must not read half of a change.
    kept = [i for i in whole.foundation if i.key.name != names.config_map("x")]
    assert list(held.foundation) == kept


def test_every_problem_is_reported() -> None:
    world = WORLD.without_secrets("x-unseal-key", "x-tls-ca")
    reasons = {o.reason for o in fold_steps(RUNNING, world).outcomes if isinstance(o, Blocked)}
    assert reasons == {"UnsealKeyMissing", "CASecretMissing"}
