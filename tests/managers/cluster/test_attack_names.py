"""Hostile text in every string of a spec: it never becomes a name, namespace or path of an object.

T01 (names and paths) and T04 (other namespaces) of the list of attacks, and T11 (foreign objects
with our names).
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.schema.crd import Schema, open_api_schema, walk
from contracts.api.violation import InvalidClusterError
from contracts.naming import names
from managers.cluster.owner import owner_of
from managers.cluster.plan.steps import WORKLOAD, merge_plans
from managers.cluster.resolve.resolve import resolve
from runtime.apply.intent import Intent
from runtime.builtin_kinds import STATEFUL_SET
from runtime.outcome import Blocked
from runtime.verdict import Verdict
from tests import gen
from tests.contracts.api.clusters import MANIFESTS
from tests.gen.api import FakeApi
from tests.managers.cluster.apply.bench import DESIRED, NAMES, Bench
from tests.managers.cluster.hostile_names import strings, with_text

PAYLOADS = (
    "../../etc/passwd",
    "..",
    ".",
    "/",
    "a/../../b",
    "a/b",
    "a\\..\\b",
    "%2e%2e%2f",
    "kube-system/admin",
    "UPPER",
    "under_score",
    "a" * 300,
    "-a",
    "a-",
    "a..b",
    "a b",
    "a\nb: c",
    "a\x00b",
    "$(HOME)",
    "${HOME}",
    "{{.Name}}",
    "*",
    "~",
    "kubernetes",
    "x-unseal-key",
    "é",
    "\u202ea",
    "true",
    "null",
    "0",
)
PER_LEAF = 2
# Kubernetes API conventions: a DNS subdomain; all our names are valid ones.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def store_manifest(manifest: Any) -> Any:
    given = {"name": "x", "namespace": gen.NAMESPACE, "uid": "uid-x", "generation": 1}
    return {**manifest, "metadata": given}


def intents_of(manifest: Any) -> list[Intent]:
    """The objects that the operator applies; empty when it refuses."""
    try:
        cluster = OpenBaoCluster.from_object(manifest)
    except InvalidClusterError:
        return []
    observed = gen.world().with_issuer().facts()
    meant = resolve(cluster, owner_of(manifest), observed, gen.INSTALLATION)
    if isinstance(meant, Blocked):
        return []
    return [*merge_plans(meant, observed).intents, *WORKLOAD.plan(meant, observed).intents]


def mounts(body: Any) -> Iterator[str]:
    """Every path in the pods of an object, and every key of a ConfigMap."""
    yield from body.get("data") or ()
    pod = ((body.get("spec") or {}).get("template") or {}).get("spec") or {}
    for container in pod.get("containers") or ():
        for mount in container.get("volumeMounts") or ():
            yield mount["mountPath"]
            yield mount.get("subPath") or ""


@pytest.mark.parametrize("which", sorted(MANIFESTS))
def test_attack_t01_no_text_of_a_spec_becomes_another_name_or_path(which: str) -> None:
    manifest, payloads = store_manifest(MANIFESTS[which]), itertools.cycle(PAYLOADS)
    for path in list(strings(manifest["spec"])):
        for text in itertools.islice(payloads, PER_LEAF):
            for intent in intents_of(with_text(manifest, path, text)):
                assert intent.key.namespace == gen.NAMESPACE, (path, text)
                name = intent.key.name
                assert _NAME.fullmatch(name), (path, text, name)
                assert len(name) <= 253, (path, text, name)
                for place in mounts(intent.body):
                    assert ".." not in place.split("/"), (path, text, place)


@pytest.mark.parametrize("text", PAYLOADS)
def test_attack_t01_no_such_text_is_the_name_of_a_cluster(text: str) -> None:
    if text in ("kubernetes", "x-unseal-key", "true", "null"):
        assert names.is_cluster_name(text)
        return
    assert not names.is_cluster_name(text)
    with pytest.raises(ValueError, match="must be 1 to 40 of a-z"):
        names.stateful_set(text)


# Fields with the name of a namespace, and why they give no access to it.
NAMESPACES = {
    "gateway.gatewayRef.namespace": "the Gateway decides by allowedRoutes whom it takes",
    "network.dnsNamespace": "a label in a NetworkPolicy, nothing is read there",
    "backup.restoreTest.namespace": "not served: nothing is read or made there",
    "selfInit.oidc.policyApproverRef.namespace": "not served: nothing is read there",
}


# Namespaces of OpenBao and of a telemetry service, not of Kubernetes.
NOT_OURS = {"telemetry.stackdriverNamespace", "unseal.transit.namespace"}


def test_attack_t04_nothing_of_another_namespace_can_be_named() -> None:
    namespaces: set[str] = set()

    def visit(path: str, schema: Schema) -> None:
        if re.search(r"namespace$", path, re.IGNORECASE):
            namespaces.add(path)

    walk(open_api_schema()["properties"]["spec"], visit)
    assert namespaces == {*NAMESPACES, *NOT_OURS}


@pytest.mark.parametrize("which", NAMES)
async def test_attack_t11_an_object_of_another_owner_is_never_adopted(which: str) -> None:
    """An object that exists before the cluster, with a name that it needs, is a conflict."""
    intent = next(
        each for each in DESIRED.intents if f"{each.resource.kind} {each.key.name}" == which
    )
    stranger = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u", "controller": True}
    theirs = {
        "apiVersion": intent.resource.api_version,
        "kind": intent.resource.kind,
        "metadata": {
            "name": intent.key.name,
            "namespace": intent.key.namespace,
            "uid": "theirs",
            "labels": dict(intent.body["metadata"]["labels"]),
            "ownerReferences": [stranger],
        },
    }
    bench = Bench(FakeApi().with_objects((intent.resource, theirs)))
    before = bench.api.of(intent.resource)
    applied = await bench.apply()
    (verdict,) = [
        obj.verdict
        for obj in applied.objects
        if obj.intent.key == intent.key and obj.intent.resource == intent.resource
    ]
    assert verdict is Verdict.FOREIGN
    assert [
        obj for obj in bench.api.of(intent.resource) if obj["metadata"]["uid"] == "theirs"
    ] == before
    assert applied.conflicts
    foundation = intent in DESIRED.foundation
    assert bool(bench.api.of(STATEFUL_SET)) is (not foundation)
