"""managers.bootstrap.seal.keys: the data is unsealed again, whatever else was lost.

The states are those of docs/seals.md, "Which key opens my data".
"""

from datetime import timedelta

import pytest

from contracts.api.cluster.seal import Unseal
from contracts.records.secrets import SecretFacts
from contracts.unseal_keys import KEYS_SOUGHT, KeyRing, Rotation
from managers.bootstrap.plan import plan
from managers.bootstrap.seal.condition import why_sealed
from managers.bootstrap.seal.keys import (
    ServerEvidence,
    live_ring,
    needs_key_secrets,
    unseal_secrets,
)
from managers.bootstrap.seal.rotation import rotation
from runtime.outcome import Blocked, Outcome
from tests import gen

V1, TWO, THREE = "operator-generated-v1", "two", "three"
ONE = gen.secret("x-unseal-key", key_id=V1)
SECOND = gen.secret("x.2-unseal-key", key_id=TWO)
THIRD = gen.secret("x.3-unseal-key", key_id=THREE)
OLD, NEW = f"{V1}=key", f"{TWO}=key-2"
BOTH = f"{NEW},{OLD},recovered"


def cluster(key: str = TWO, told: str = "") -> gen.Cluster:
    base = gen.cluster(unseal={"static": {"currentKeyID": key}}).self_init()
    return base.with_status(unseal={"keys": told, "step": "Settled"}) if told else base


def world_with_volumes(*secrets: SecretFacts) -> gen.World:
    """Return the volumes of an earlier cluster and these Secrets, and nothing else."""
    return gen.world().with_claims(0, 1, 2).with_secrets(*secrets)


def plan_keys(cluster: gen.Cluster, world: gen.World) -> tuple[Rotation, Outcome, bool]:
    resolved = gen.resolved(cluster, world)
    seal_plan = plan(resolved, world.facts())
    return gen.present(resolved.unseal.rotation), seal_plan.outcome, seal_plan.gate


# sentence: (cluster, Secrets, the ids that may have sealed the data, the key ring of the servers)
OPEN: dict[str, tuple[gen.Cluster, tuple[SecretFacts, ...], set[str], str]] = {
    "never rotated": (cluster(V1), (ONE,), {V1}, OLD),
    "rotated, and both Secrets exist": (cluster(), (ONE, SECOND), {TWO, V1}, BOTH),
    "rotated, and the retired Secret was deleted": (cluster(), (SECOND,), {TWO}, NEW),
    "the manifest is from before the rotation": (cluster(V1), (ONE, SECOND), {TWO, V1}, BOTH),
    "the manifest names another new key": (cluster(THREE), (ONE, SECOND), {TWO, V1}, BOTH),
    "the newest Secret is missing: the servers stay sealed": (cluster(), (ONE,), {V1}, OLD),
    "the status has the key ring of an unfinished rotation": (
        cluster(told=f"{OLD},{NEW}"),
        (ONE, SECOND),
        {V1, TWO},
        f"{OLD},{NEW}",
    ),
    "the status precedes the rotation": (cluster(told=OLD), (ONE, SECOND), {TWO, V1}, BOTH),
    "rotated twice": (
        cluster(THREE),
        (ONE, SECOND, THIRD),
        {THREE, TWO},
        f"{THREE}=key-3,{NEW},recovered",
    ),
    "a Secret without the id of its key is what the spec names": (
        cluster(),
        (ONE, gen.secret("x.2-unseal-key")),
        {TWO, V1},
        BOTH,
    ),
}


@pytest.mark.parametrize(("cluster", "secrets", "sealed", "row"), OPEN.values(), ids=OPEN.keys())
def test_servers_start_with_every_key_that_may_be_needed(
    cluster: gen.Cluster, secrets: tuple[SecretFacts, ...], sealed: set[str], row: str
) -> None:
    key_rotation, _, gate = plan_keys(cluster, world_with_volumes(*secrets))
    assert str(key_rotation.ring) == row
    assert sealed <= {key.id for key in key_rotation.ring.keys}
    assert not gate
    assert key_rotation.draw == "", "no key is generated before the servers are ready"


def test_after_twelve_rotations_the_last_two_keys_are_used() -> None:
    many = [gen.secret(f"x.{n}-unseal-key", key_id=f"k{n}") for n in range(2, 14)]
    key_rotation, _, gate = plan_keys(cluster("k13"), world_with_volumes(ONE, *many))
    assert (str(key_rotation.ring), gate) == ("k13=key-13,k12=key-12,recovered", False)


def test_with_an_older_id_the_message_names_the_id_to_set() -> None:
    key_rotation, outcome, gate = plan_keys(cluster(V1), world_with_volumes(ONE, SECOND))
    assert isinstance(outcome, Blocked)
    assert (key_rotation.step, gate) == ("Refused", False)
    assert outcome.reason == "UnsealKeyRotationRefused"
    assert f"set currentKeyID to {TWO}" in outcome.message
    # No later pass goes back to the older key: the template has the key ring.
    rows = [gen.pod(n).with_keys(BOTH).ready(leading=n == 0) for n in range(3)]
    later = (
        world_with_volumes(ONE, SECOND)
        .with_set(gen.stateful_set().with_replicas(3).with_keys(BOTH))
        .with_pods(*rows)
    )
    again = rotation(
        "x", Unseal.model_validate({"static": {"currentKeyID": V1}}), later.facts(), ""
    )
    assert (str(again.ring), again.step) == (BOTH, "Refused")
    newest = rotation(
        "x", Unseal.model_validate({"static": {"currentKeyID": TWO}}), later.facts(), ""
    )
    assert (str(newest.ring), newest.step) == (BOTH, "Rewrapping")


def test_both_secrets_of_an_earlier_cluster_must_be_adopted() -> None:
    before = "a deleted OpenBaoCluster"
    theirs = [gen.secret(s.name, of=before, key_id=s.key_id) for s in (ONE, SECOND)]
    _, outcome, gate = plan_keys(cluster(), world_with_volumes(*theirs))
    assert isinstance(outcome, Blocked)
    assert (outcome.reason, gate) == ("ForeignObject", True)
    assert "x-unseal-key" in outcome.message
    assert "x.2-unseal-key" in outcome.message


def test_without_any_key_no_pod_starts_and_no_key_is_generated() -> None:
    world = world_with_volumes()
    seal_plan = plan(gen.resolved(cluster(), world), world.facts())
    assert isinstance(seal_plan.outcome, Blocked)
    assert seal_plan.outcome.reason == "UnsealKeyMissing"
    assert (seal_plan.gate, seal_plan.effects) == (True, ())
    assert "x.2-unseal-key" in seal_plan.outcome.message


def test_a_new_cluster_takes_the_key_that_the_spec_names() -> None:
    key_rotation, _, gate = plan_keys(cluster(), gen.world().with_secrets(ONE, SECOND))
    assert (str(key_rotation.ring), gate) == (NEW, False)


# --- servers that run and stay sealed ------------------------------------------------------------


def sealed_servers(row: str, *secrets: SecretFacts) -> gen.World:
    pods = [
        gen.pod(n)
        .with_keys(row)
        .with_server_labels(sealed="true", initialized="true", active="false")
        for n in range(3)
    ]
    live = gen.stateful_set().with_replicas(3).with_keys(row)
    return world_with_volumes(*secrets).with_set(live).with_pods(*pods)


# sentence: (id of the spec, world, the next key ring)
SHUT: dict[str, tuple[str, gen.World, str]] = {
    "the older key was set": (TWO, sealed_servers(OLD, ONE, SECOND), f"{OLD},{NEW}"),
    "a newer Secret was restored": (
        THREE,
        sealed_servers(BOTH, ONE, SECOND, THIRD),
        f"{NEW},{THREE}=key-3",
    ),
    "a Secret two generations newer": (
        THREE,
        sealed_servers(OLD, ONE, THIRD),
        f"{OLD},{THREE}=key-3",
    ),
    "the Secret of the current key was deleted": (TWO, sealed_servers(OLD, SECOND), NEW),
    "a power cut in a settled cluster": (TWO, sealed_servers(NEW, ONE, SECOND), NEW),
    "a power cut after a reverted rotation": (V1, sealed_servers(OLD, ONE, SECOND), OLD),
    "a power cut while an older id is refused": (V1, sealed_servers(NEW, ONE, SECOND), NEW),
    "a power cut before a new key is generated": (THREE, sealed_servers(NEW, SECOND), NEW),
}


@pytest.mark.parametrize(("key", "world", "row"), SHUT.values(), ids=SHUT.keys())
def test_sealed_servers_get_the_newer_key_of_the_spec(key: str, world: gen.World, row: str) -> None:
    unseal = Unseal.model_validate({"static": {"currentKeyID": key}})
    key_rotation = rotation("x", unseal, world.facts(), "")
    assert str(key_rotation.ring) == row
    assert key_rotation.draw == ""


def test_sealed_servers_get_the_former_supplied_key_of_the_spec() -> None:
    spec = {
        "static": {"currentKeyID": "one", "currentKey": "file:///etc/bao/unseal/a"},
        "credentialsSecretRef": {"name": "mine"},
    }
    keys = {"a": gen.unseal_key("f1"), "b": gen.unseal_key("f2")}
    world = sealed_servers("two=b@f2", gen.secret("mine", of="a user", keys=keys))
    key_rotation = rotation("x", Unseal.model_validate(spec), world.facts(), "")
    assert str(key_rotation.ring) == "two=b@f2,one=a@f1"


# sentence: (id of the spec, world, words of the message)
WORDS: dict[str, tuple[str, gen.World, str]] = {
    "the newest Secret is missing": (
        TWO,
        sealed_servers(OLD, ONE),
        "restore Secret x.2-unseal-key from a backup of Secrets. ",
    ),
    "a newer Secret exists": (
        V1,
        sealed_servers(OLD, ONE, SECOND),
        "Secret x.2-unseal-key contains a newer key: set spec.unseal.static.currentKeyID to two",
    ),
    "the newer key is being rolled out": (
        TWO,
        sealed_servers(OLD, ONE, SECOND),
        "new pods also get the key two",
    ),
    "the Secret before is also missing": (
        TWO,
        sealed_servers(NEW, SECOND),
        "restore Secret x.3-unseal-key from a backup of Secrets, or else Secret x-unseal-key",
    ),
}


@pytest.mark.parametrize(("key", "world", "words"), WORDS.values(), ids=WORDS.keys())
def test_the_condition_names_the_secret_to_restore(key: str, world: gen.World, words: str) -> None:
    text = why_sealed(cluster(key).read(), world.facts())
    assert words in text
    assert f"currentKeyID to {V1}" not in text


def test_one_unsealed_server_is_enough_for_no_message() -> None:
    world = sealed_servers(OLD, ONE)
    world = world.with_pods(gen.pod(0).with_keys(OLD).ready(), *world.pods[1:])
    assert why_sealed(cluster(V1).read(), world.facts()) == ""


# --- evidence ------------------------------------------------------------------------------------


def ring(template: str | None, pods: tuple[str, ...], key_id: str) -> str:
    live = None if template is None else gen.stateful_set().with_replicas(3).with_keys(template)
    results = [gen.pod(n).with_keys(row).ready() for n, row in enumerate(pods)]
    facts = gen.world().with_set(live).with_pods(*results).with_claims(0).facts()
    key_ring = live_ring(ServerEvidence.of(facts), key_id)
    return "" if key_ring is None else str(key_ring)


EVIL = "evil=key-7"


@pytest.mark.parametrize(
    ("template", "pods", "status_keys", "wanted"),
    [
        (NEW, (NEW,) * 3, "", NEW),  # the status is lost
        (NEW, (NEW,) * 3, OLD, NEW),  # the status is from before the rotation
        (EVIL, (NEW,) * 3, NEW, NEW),  # a user changed the StatefulSet
        ("", (NEW,) * 3, NEW, NEW),  # a user removed the annotation
        ("", (NEW,) * 3, "", NEW),
        (None, (NEW,) * 3, "", NEW),  # pods without their StatefulSet
        (None, (NEW,) * 3, OLD, NEW),
        (None, (), NEW, NEW),
        (None, (NEW, OLD), "", ""),
        (None, (), "", ""),
    ],
)
def test_one_piece_of_evidence_is_enough_for_the_key_ring(
    template: str | None, pods: tuple[str, ...], status_keys: str, wanted: str
) -> None:
    assert ring(template, pods, status_keys) == wanted


def test_all_secrets_are_read_only_for_data_without_evidence() -> None:
    unseal = Unseal.model_validate({"static": {"currentKeyID": TWO}})
    lost = ServerEvidence.of(world_with_volumes().facts())
    assert needs_key_secrets(unseal, lost, "")
    assert needs_key_secrets(unseal, ServerEvidence.of(sealed_servers(OLD).facts()), "")
    young = sealed_servers(OLD)
    young = young.with_pods(*(pod.born(timedelta(seconds=5)) for pod in young.pods))
    assert not needs_key_secrets(unseal, ServerEvidence.of(young.facts()), ""), (
        "it may be a first boot"
    )
    assert not needs_key_secrets(unseal, ServerEvidence.of(gen.world().facts()), "")
    running = gen.running(gen.cluster().initialized())
    known = running.with_set(gen.stateful_set().with_replicas(3).with_keys(NEW))
    assert not needs_key_secrets(unseal, ServerEvidence.of(known.facts()), "")
    assert len(unseal_secrets("x", unseal, "", all_generations=True)) == KEYS_SOUGHT


def test_a_recovered_key_ring_survives_a_round_trip() -> None:
    key_ring = gen.present(KeyRing.parse(BOTH))
    assert (key_ring.recovered, str(key_ring)) == (True, BOTH)
    assert KeyRing.parse("recovered") is None
