"""A user with edit rights in one namespace cannot escalate them.

Mallory sends requests with her own token to a real API server while the real operator runs: first
with the shipped CRD and policies, then without both, so that only the operator rejects.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS, TENANTS
from contracts.api.rules.cluster import RULES
from contracts.naming import labels, names
from e2e.attacks.crd_without_rules import without_rules
from e2e.attacks.mallory import Mallory, make
from e2e.attacks.specs import ATTEMPTS, Attempt
from e2e.attacks.table import ATTACKS, as_text
from e2e.conftest import MakeNamespace
from e2e.harness import policies
from e2e.harness.clusters import CHILDREN, Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, POD, SECRET, STATEFUL_SET
from runtime.types import Object

WORDS = {rule.id: rule.message[:150] for rule in RULES}
# Annotations that an editor may write on her own cluster, and that have no effect.
ANNOTATIONS = (
    labels.MAINTENANCE,
    labels.OWNER_UID,
    labels.TEMPLATE_HASH,
    labels.UNSEAL_REWRAPPED,
    labels.ADOPT,
    labels.RESTART_AT,
    "openbao.org/force",
    "openbao.org/operation-lock",
    "openbao.org/break-glass",
)


@pytest.fixture(scope="module")
def mallory(rig: Rig, api: Api, make_namespace: MakeNamespace) -> Mallory:
    """The attacker, with her own namespace."""
    policies.install_people(rig)
    return make(api, make_namespace(), admin=True)


@pytest.fixture(scope="module")
def victim(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Iterator[Cluster]:
    """A running cluster of another user, which must not change."""
    namespace = make_namespace()
    api.create(CLUSTERS, manifest(namespace, "victim"))
    cluster = Cluster(api, namespace, "victim")
    cluster.await_available()
    before = fingerprints(api, cluster)
    yield cluster
    assert fingerprints(api, cluster) == before


def fingerprints(api: Api, cluster: Cluster) -> dict[tuple[str, str], tuple[str, int]]:
    """The UID and the generation of every object of a cluster."""
    return {
        (resource.kind, str(obj["metadata"]["name"])): (
            str(obj["metadata"]["uid"]),
            int(obj["metadata"].get("generation", 0)),
        )
        for resource in CHILDREN
        for obj in api.list(resource, cluster.namespace)
    }


def deficiency(attempt: Attempt, words: str) -> str:
    """Why a message is not sufficient; "" if it is."""
    outermost = attempt.field.partition("[")[0].split(".")[1]
    if attempt.rule != "schema" and WORDS[attempt.rule] not in words:
        return f"another message: {words[:400]}"
    return "" if outermost in words else f"no field: {words[:400]}"


def test_attack_every_forbidden_spec_is_refused_by_admission(
    rig: Rig, victim: Cluster, mallory: Mallory
) -> None:
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    with policies.in_force(rig):
        for attempt in ATTEMPTS:
            body = manifest(mallory.namespace, "a", **attempt.spec)
            answer = mallory.create(CLUSTERS, body, dry=True)
            problem = deficiency(attempt, answer.words) if answer.refused else "accepted"
            if problem:
                wrong[attempt.name] = problem
            counts[attempt.attack] += 1
        attack_without_specs(mallory, victim, wrong)
    assert wrong == {}
    print(f"\n{sum(counts.values())} specs rejected by admission: {dict(counts)}")


def attack_without_specs(mallory: Mallory, victim: Cluster, wrong: dict[str, str]) -> None:
    """Attacks without a spec: other namespaces, the status, tenants, and names of the operator."""
    there, here = victim.namespace, mallory.namespace
    mark = {"metadata": {"annotations": {labels.MAINTENANCE: "true"}}}
    tenant = {"metadata": {"name": "t", "namespace": here}, "spec": {"targetNamespace": there}}
    ours = {"name": names.config_map("later"), "namespace": here, "labels": labels.base("later")}
    unknown = manifest(here, "a", unseal={"credentialsSecretRef": {"namespace": there}})
    responses = {
        "T04: a Secret of another namespace": mallory.get(
            SECRET, there, names.unseal_key_secret("victim")
        ),
        "T04: a cluster in another namespace": mallory.create(
            CLUSTERS, manifest(there, "a"), dry=True
        ),
        "T04: a field for a namespace": mallory.create(CLUSTERS, unknown, dry=True),
        "T11: an object with our labels": mallory.create(CONFIG_MAP, {"metadata": ours}, dry=True),
        "T12: an annotation on a pod of another user": mallory.patch(POD, there, "victim-0", mark),
        "T13: the status of another cluster": mallory.patch(CLUSTERS, there, "victim/status", {}),
        "T13: the status of her own cluster": mallory.patch(
            CLUSTERS, here, "a/status", {"status": {"ready": "3/3"}}
        ),
        "T22: a tenant for another namespace": mallory.create(TENANTS, tenant, dry=True),
    }
    wrong.update({what: "accepted" for what, answer in responses.items() if not answer.refused})
    for what, answer in responses.items():
        print(f"\n{what}: {answer.code} {answer.words[:160]}")


@pytest.mark.timeout(400)
def test_attack_every_forbidden_spec_is_refused_by_the_operator_alone(
    rig: Rig, api: Api, victim: Cluster, mallory: Mallory
) -> None:
    """The clusters are stored; each is reported with the field, and no objects are created."""
    wrong: dict[str, str] = {}
    with without_rules(rig, mallory):
        for number, attempt in enumerate(ATTEMPTS):
            answer = mallory.create(
                CLUSTERS, manifest(mallory.namespace, f"a-{number}", **attempt.spec)
            )
            assert not answer.refused, (attempt.name, answer.words)
        for number, attempt in enumerate(ATTEMPTS):
            cluster = Cluster(api, mallory.namespace, f"a-{number}")
            condition = cluster.await_condition("Stalled", seconds=60.0)
            problem = deficiency(attempt, condition["message"])
            if condition["reason"] != "InvalidSpec" or attempt.field not in condition["message"]:
                problem = f"{condition['reason']}: {condition['message'][:300]}"
            if problem:
                wrong[attempt.name] = problem
        created = objects_of_operator(api, mallory.namespace)
        for number in range(len(ATTEMPTS)):
            api.delete(CLUSTERS, mallory.namespace, f"a-{number}")
        until("the clusters are deleted", lambda: not api.list(CLUSTERS, mallory.namespace), 60.0)
    assert wrong == {}
    assert created == []
    print(f"\n{len(ATTEMPTS)} specs rejected by the operator alone, no objects created")


def objects_of_operator(api: Api, namespace: str) -> list[str]:
    """Every object in a namespace that the operator created."""
    selector = f"{labels.MANAGED_BY}={labels.OPERATOR}"
    return [
        f"{resource.kind} {obj['metadata']['name']}"
        for resource in CHILDREN
        for obj in api.list(resource, namespace, selector)
    ]


def test_attack_t11_an_object_of_another_owner_is_not_changed(
    api: Api, operator: Operator, mallory: Mallory
) -> None:
    """Without admission, on an object with all our labels."""
    name = names.unseal_key_secret("later")
    mine: Object = {
        "metadata": {"name": name, "namespace": mallory.namespace, "labels": labels.base("later")},
        "data": {"key": "bWluZQ=="},
    }
    assert not mallory.create(SECRET, mine).refused
    before = api.get(SECRET, mallory.namespace, name)
    assert not mallory.create(CLUSTERS, manifest(mallory.namespace, "later")).refused
    condition = Cluster(api, mallory.namespace, "later").await_condition("Conflict", seconds=20.0)
    assert condition["reason"] == "ForeignObject"
    assert name in condition["message"]
    assert api.get(SECRET, mallory.namespace, name) == before
    assert api.find(STATEFUL_SET, mallory.namespace, "later") is None
    api.delete(CLUSTERS, mallory.namespace, "later")


def test_attack_t12_t13_forged_annotations_and_status_have_no_effect(
    api: Api, operator: Operator, victim: Cluster
) -> None:
    """Annotations of an administrator on the cluster; a forged status is corrected."""
    before = fingerprints(api, victim)
    marks = {"metadata": {"annotations": dict.fromkeys(ANNOTATIONS, "true")}}
    api.patch(CLUSTERS, victim.namespace, victim.name, marks)
    forged = {"status": {"ready": "9/9", "currentVersion": "9.9.9"}}
    api.patch(CLUSTERS, victim.namespace, f"{victim.name}/status", forged)

    def is_true_again() -> bool:
        condition = victim.live()["status"]
        return bool(condition["ready"] == "1/1" and condition["currentVersion"] != "9.9.9")

    until("the status is true again", is_true_again, 20.0)
    throughout("no object is changed", lambda: fingerprints(api, victim) == before, 3.0)


def test_attack_the_table_is_complete() -> None:
    """Every attack of the list has a row, and every attempt belongs to a row."""
    assert [row.id for row in ATTACKS] == [f"T{number:02}" for number in range(1, 23)]
    assert {attempt.attack for attempt in ATTEMPTS} <= {row.id for row in ATTACKS}
    print(f"\n{as_text()}")
