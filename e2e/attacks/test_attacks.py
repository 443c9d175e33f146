"""Whoever may write into one namespace gets no further: refused before the operator, and by it.

Mallory acts with her own token on the real API server while the real operator runs. First with the
CRD and the policies as they are shipped; then with neither, so that the operator alone decides.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS, TENANTS
from contracts.api.rules.cluster import RULES
from contracts.naming import labels, names
from e2e.attacks.guards import no_guards
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
# Marks that an editor may write on her own cluster, and that nobody believes.
MARKS = (
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
    """Her, with a namespace of her own."""
    policies.install_people(rig)
    return make(api, make_namespace(), admin=True)


@pytest.fixture(scope="module")
def victim(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Iterator[Cluster]:
    """A running cluster of another user, which must not change."""
    namespace = make_namespace()
    api.create(CLUSTERS, manifest(namespace, "victim"))
    cluster = Cluster(api, namespace, "victim")
    cluster.await_available()
    before = untouched(api, cluster)
    yield cluster
    assert untouched(api, cluster) == before


def untouched(api: Api, cluster: Cluster) -> dict[tuple[str, str], tuple[str, int]]:
    """Who every object of a cluster is, and how often its content was changed."""
    return {
        (resource.kind, str(one["metadata"]["name"])): (
            str(one["metadata"]["uid"]),
            int(one["metadata"].get("generation", 0)),
        )
        for resource in CHILDREN
        for one in api.list(resource, cluster.namespace)
    }


def complaint(attempt: Attempt, words: str) -> str:
    """Why an answer is not good enough; "" when it is."""
    outermost = attempt.field.partition("[")[0].split(".")[1]
    if attempt.rule != "schema" and WORDS[attempt.rule] not in words:
        return f"in other words: {words[:400]}"
    return "" if outermost in words else f"without the field: {words[:400]}"


def test_attack_every_forbidden_spec_is_refused_by_admission(
    rig: Rig, victim: Cluster, mallory: Mallory
) -> None:
    counted: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    with policies.in_force(rig):
        for attempt in ATTEMPTS:
            body = manifest(mallory.namespace, "a", **attempt.spec)
            answer = mallory.create(CLUSTERS, body, dry=True)
            problem = complaint(attempt, answer.words) if answer.refused else "taken"
            if problem:
                wrong[attempt.name] = problem
            counted[attempt.attack] += 1
        others(mallory, victim, wrong)
    assert wrong == {}
    print(f"\n{sum(counted.values())} specs refused by admission: {dict(counted)}")


def others(mallory: Mallory, victim: Cluster, wrong: dict[str, str]) -> None:
    """What is no spec: other namespaces, the status, tenants, and names of the operator."""
    there, here = victim.namespace, mallory.namespace
    mark = {"metadata": {"annotations": {labels.MAINTENANCE: "true"}}}
    tenant = {"metadata": {"name": "t", "namespace": here}, "spec": {"targetNamespace": there}}
    ours = {"name": names.config_map("later"), "namespace": here, "labels": labels.base("later")}
    unknown = manifest(here, "a", unseal={"credentialsSecretRef": {"namespace": there}})
    tried = {
        "T04: a Secret of another namespace": mallory.get(
            SECRET, there, names.unseal_key_secret("victim")
        ),
        "T04: a cluster in another namespace": mallory.create(
            CLUSTERS, manifest(there, "a"), dry=True
        ),
        "T04: a field for a namespace": mallory.create(CLUSTERS, unknown, dry=True),
        "T11: an object with the labels of ours": mallory.create(
            CONFIG_MAP, {"metadata": ours}, dry=True
        ),
        "T12: a mark on a pod of another": mallory.patch(POD, there, "victim-0", mark),
        "T13: the status of another": mallory.patch(CLUSTERS, there, "victim/status", {}),
        "T13: the status of one's own": mallory.patch(
            CLUSTERS, here, "a/status", {"status": {"ready": "3/3"}}
        ),
        "T22: a tenant for another namespace": mallory.create(TENANTS, tenant, dry=True),
    }
    wrong.update({what: "taken" for what, answer in tried.items() if not answer.refused})
    for what, answer in tried.items():
        print(f"\n{what}: {answer.code} {answer.words[:160]}")


@pytest.mark.timeout(400)
def test_attack_every_forbidden_spec_is_refused_by_the_operator_alone(
    rig: Rig, api: Api, victim: Cluster, mallory: Mallory
) -> None:
    """They are stored unchanged; each is reported with the field, and no objects are created."""
    wrong: dict[str, str] = {}
    with no_guards(rig, mallory):
        for number, attempt in enumerate(ATTEMPTS):
            answer = mallory.create(
                CLUSTERS, manifest(mallory.namespace, f"a-{number}", **attempt.spec)
            )
            assert not answer.refused, (attempt.name, answer.words)
        for number, attempt in enumerate(ATTEMPTS):
            cluster = Cluster(api, mallory.namespace, f"a-{number}")
            condition = cluster.await_condition("Stalled", seconds=60.0)
            problem = complaint(attempt, condition["message"])
            if condition["reason"] != "InvalidSpec" or attempt.field not in condition["message"]:
                problem = f"{condition['reason']}: {condition['message'][:300]}"
            if problem:
                wrong[attempt.name] = problem
        made = made_for(api, mallory.namespace)
        for number in range(len(ATTEMPTS)):
            api.delete(CLUSTERS, mallory.namespace, f"a-{number}")
        until("they go", lambda: not api.list(CLUSTERS, mallory.namespace), 60.0)
    assert wrong == {}
    assert made == []
    print(f"\n{len(ATTEMPTS)} specs refused by the operator alone, nothing made")


def made_for(api: Api, namespace: str) -> list[str]:
    """Every object in a namespace that the operator made."""
    selector = f"{labels.MANAGED_BY}={labels.OPERATOR}"
    return [
        f"{resource.kind} {one['metadata']['name']}"
        for resource in CHILDREN
        for one in api.list(resource, namespace, selector)
    ]


def test_attack_t11_names_that_are_taken_are_left_alone(
    api: Api, operator: Operator, mallory: Mallory
) -> None:
    """Without admission, and with every label of ours on it."""
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


def test_attack_t12_t13_marks_and_words_on_ones_own_cluster_change_nothing(
    api: Api, operator: Operator, victim: Cluster
) -> None:
    """Written by somebody who may, on the cluster and on its pod; a lie in the status is undone."""
    before = untouched(api, victim)
    marks = {"metadata": {"annotations": dict.fromkeys(MARKS, "true")}}
    api.patch(CLUSTERS, victim.namespace, victim.name, marks)
    lie = {"status": {"ready": "9/9", "currentVersion": "9.9.9"}}
    api.patch(CLUSTERS, victim.namespace, f"{victim.name}/status", lie)

    def is_true_again() -> bool:
        condition = victim.live()["status"]
        return bool(condition["ready"] == "1/1" and condition["currentVersion"] != "9.9.9")

    until("the status is true again", is_true_again, 20.0)
    throughout("nothing is changed for it", lambda: untouched(api, victim) == before, 3.0)


def test_attack_the_table_is_whole() -> None:
    """Every attack of the list has a row, and every row that says so has attempts."""
    assert [row.id for row in ATTACKS] == [f"T{number:02}" for number in range(1, 23)]
    assert {one.attack for one in ATTEMPTS} <= {row.id for row in ATTACKS}
    print(f"\n{as_text()}")
