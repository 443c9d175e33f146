"""managers.cluster.observe.from_objects: facts from objects with missing fields."""

import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.container_history import ContainerExit
from managers.certs.x509 import issue_server, make_authority
from managers.cluster.observe.from_objects import (
    SECRET_METADATA,
    pod_facts,
    pvc_facts,
    secret_facts,
    secret_reading,
    stateful_set_facts,
)
from managers.context.secret_builder import secret_object
from runtime.limits.nesting import shallow
from runtime.limits.object_size import LAST_APPLIED
from runtime.types import Object
from tests import gen

OWNER = gen.cluster().owner()


def bare_pod(**parts: Any) -> Object:
    return {"metadata": {"name": "x-0", "uid": "u", "namespace": "ns"}, **parts}


def with_container(**status: Any) -> Object:
    return bare_pod(status={"containerStatuses": [status]})


def with_condition(**condition: str) -> Object:
    return bare_pod(status={"conditions": [condition]})


# sentence: (pod, the fact's name, its value)
PODS: dict[str, tuple[Object, str, Any]] = {
    "a null list of containers is not started": (
        bare_pod(status={"containerStatuses": None, "conditions": None}),
        "waiting",
        "",
    ),
    "a null state is no state": (with_container(name="openbao", state=None), "waiting", ""),
    "a sidecar's restarts": (with_container(name="sidecar", restartCount=7), "restarts", 0),
    "a pod without annotations comes from no template": (bare_pod(), "template", ""),
    "the waiting reason and message of the kubelet": (
        gen.pod().waiting("ImagePullBackOff", "no such image").object(),
        "waiting",
        "ImagePullBackOff: no such image",
    ),
    "a waiting reason without a message": (
        gen.pod().waiting("ContainerCreating").object(),
        "waiting",
        "ContainerCreating",
    ),
    "the message of the scheduler": (
        gen.pod().unschedulable("0/3 nodes are available").object(),
        "waiting",
        "Unschedulable: 0/3 nodes are available",
    ),
    "a scheduled pod is not unschedulable": (
        with_condition(type="PodScheduled", status="True", reason="Scheduled"),
        "waiting",
        "",
    ),
    "the last termination": (
        gen.pod().with_restarts(2, code=137, reason="OOMKilled").object(),
        "last_exit",
        ContainerExit(137, "OOMKilled"),
    ),
    "the termination message is truncated": (
        gen.pod().with_restarts(message="x" * 5000).object(),
        "last_exit",
        ContainerExit(1, "Error", "x" * 4096),
    ),
    "a termination without an exit code": (
        with_container(name="openbao", lastState={"terminated": {"x": 1}}),
        "last_exit",
        ContainerExit(-1, ""),
    ),
    "a ready pod is ready": (gen.pod().ready().object(), "ready", True),
    "a terminating ready pod is not ready": (
        gen.pod().ready().terminating().object(),
        "ready",
        False,
    ),
    "unknown readiness is not ready": (
        with_condition(type="Ready", status="Unknown"),
        "ready",
        False,
    ),
    "a condition without a type is ignored": (
        bare_pod(status={"conditions": [{}, {"type": "Ready", "status": "True"}]}),
        "ready",
        True,
    ),
}


@pytest.mark.parametrize(("pod", "fact", "value"), PODS.values(), ids=PODS)
def test_pod(pod: Object, fact: str, value: Any) -> None:
    (facts,) = pod_facts(ServerPool("x"), [pod])
    assert getattr(facts, fact) == value


EMPTY: tuple[Any, ...] = ({}, {"containerStatuses": None}, {"containerStatuses": []})


@pytest.mark.parametrize("status", [None, *EMPTY, {"conditions": []}])
def test_b40_a_new_pod_has_not_started(status: Any) -> None:
    (facts,) = pod_facts(ServerPool("x"), [bare_pod(status=status)])
    assert (facts.ready, facts.restarts, facts.last_exit, facts.ip) == (False, 0, None, "")


def test_labels_of_the_server_are_separate_from_kubernetes_facts() -> None:
    facts = gen.pod().ready(leading=True).unready().facts()
    assert not facts.ready
    assert facts.registration.active is True
    assert facts.registration.sealed is False
    assert facts.registration.version == "2.4.0"
    assert gen.pod().with_server_labels(active="perhaps").facts().registration.active is None


def test_pods_come_in_the_order_of_their_ordinals() -> None:
    pods = [gen.pod(n).object() for n in (10, 2, 0)]
    assert [facts.ordinal for facts in pod_facts(ServerPool("x"), pods)] == [0, 2, 10]


@pytest.mark.parametrize("name", ["x-backup-1", "y-0", "x-01", "x", "x--1", "x-a", "x-0-abc"])
def test_a_pod_of_another_pool_is_ignored(name: str) -> None:
    pod = gen.pod().object()
    pod["metadata"]["name"] = name
    assert pod_facts(ServerPool("x"), [pod]) == ()


def test_an_absent_or_terminating_stateful_set_is_none() -> None:
    assert stateful_set_facts(None) is None
    assert gen.stateful_set().terminating().facts() is None


NEW_SET = gen.stateful_set().object()
del NEW_SET["status"]
FIRST_SPEC = {**replace(gen.stateful_set(), generation=1).object(), "status": {}}
BARE_SET: Object = {"metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}}
# sentence: (StatefulSet, the fact's name, its value)
SETS: dict[str, tuple[Object, str, Any]] = {
    "a new one is not observed": (NEW_SET, "generation_observed", False),
    "a new one has no ready replicas": (NEW_SET, "ready_replicas", 0),
    "the first spec before it is observed": (FIRST_SPEC, "generation_observed", False),
    "an observed one": (gen.stateful_set().object(), "generation_observed", True),
    "a changed one": (
        gen.stateful_set().with_stale_status().object(),
        "generation_observed",
        False,
    ),
    "the first boot has a volume": (gen.stateful_set().first_boot().object(), "first_boot", True),
    "without that volume there is no first boot": (
        gen.stateful_set().object(),
        "first_boot",
        False,
    ),
    "a bare one has one replica": (BARE_SET, "replicas", 1),
    "a bare one has no template": (BARE_SET, "template", ""),
    "a bare one has no size": (BARE_SET, "claim_size", ""),
    "a bare one has no class": (BARE_SET, "claim_class", None),
}


@pytest.mark.parametrize(("live", "fact", "value"), SETS.values(), ids=SETS)
def test_stateful_set(live: Object, fact: str, value: Any) -> None:
    assert getattr(gen.present(stateful_set_facts(live)), fact) == value


def test_one_mark_of_this_operator_is_enough() -> None:
    assert gen.present(gen.stateful_set().facts()).foreign is None, "its template has our label"
    without = gen.stateful_set().of_another().object()
    assert gen.present(stateful_set_facts(without)).foreign is not None
    annotations = {labels.INTENT_HASH: "digest"}
    marked = {**without, "metadata": {**without["metadata"], "annotations": annotations}}
    marked["metadata"]["resourceVersion"] = "2"
    assert gen.present(stateful_set_facts(marked)).foreign is None


def test_pods_that_its_controller_has_not_created() -> None:
    refused = gen.stateful_set().with_created(2)
    assert gen.present(refused.facts()).missing_pods == 1
    assert gen.present(gen.stateful_set().with_created(3).facts()).missing_pods == 0
    # Its controller creates them next.
    assert gen.present(refused.with_stale_status().facts()).missing_pods == 0
    # While it scales down.
    assert gen.present(gen.stateful_set().with_created(4).facts()).missing_pods == 0


class TestClaims:
    def test_the_annotation_names_the_owner(self) -> None:
        others = gen.claim("data-x-1", annotations={}, deletionTimestamp="t")
        facts = pvc_facts(ServerPool("x"), [others, gen.claim()])
        assert [(c.name, c.owner_uid) for c in facts] == [("data-x-0", "uid-x"), ("data-x-1", "")]
        assert [c.terminating for c in facts] == [False, True]

    def test_its_growth_is_read(self) -> None:
        live = gen.claim(size="2Gi", annotations={labels.ADOPT: "x"})
        live["spec"]["storageClassName"] = "fast"
        condition = {
            "type": "FileSystemResizePending",
            "status": "True",
            "message": "restart it",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }
        live["status"] = {
            "phase": "Bound",
            "capacity": {"storage": "1Gi"},
            "conditions": [{**condition, "type": "Resizing", "status": "False"}, condition],
        }
        (pvc_fact,) = pvc_facts(ServerPool("x"), [live])
        sizes = (pvc_fact.requested, pvc_fact.capacity, pvc_fact.storage_class)
        assert sizes == ("2Gi", "1Gi", "fast")
        assert (pvc_fact.phase, pvc_fact.adopt) == ("Bound", "x")
        assert (pvc_fact.resizing, pvc_fact.resize_message) == (condition["type"], "restart it")
        assert pvc_fact.resizing_since == datetime(2030, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize("name", ["data-y-0", "audit-x-0", "data-x-0a", "data-x", "x-0"])
    def test_a_volume_of_another_name_holds_no_data_of_ours(self, name: str) -> None:
        assert pvc_facts(ServerPool("x"), [gen.claim(name)]) == ()


AUTHORITY = make_authority("x", gen.NOW)
SERVER = issue_server(AUTHORITY, ("a.example.com",), ("127.0.0.1",), gen.NOW)
KEY = ec.generate_private_key(ec.SECP256R1())


def pem(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, password: bytes | None = None
) -> bytes:
    how: serialization.KeySerializationEncryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


def secret(**data: bytes) -> Object:
    """Our Secret; `_` in a name means a dot."""
    files = {name.replace("_", "."): value for name, value in data.items()}
    return secret_object(OWNER, "x-tls-server", files)


# sentence: files
UNUSABLE = {
    "no certificate": {"password": b"x"},
    "no files": {},
    "a certificate without its key": {"tls_crt": SERVER.certificate},
    "an empty key": {"tls_crt": SERVER.certificate, "tls_key": b""},
    "garbage for a certificate": {"tls_crt": b"garbage", "tls_key": SERVER.key},
    "garbage for a key": {"tls_crt": SERVER.certificate, "tls_key": b"garbage"},
    "bytes for a certificate": {"tls_crt": bytes(range(256)), "tls_key": SERVER.key},
    "an encrypted key": {"tls_crt": SERVER.certificate, "tls_key": pem(KEY, b"password")},
    "garbage as a CA": {"tls_crt": SERVER.certificate, "tls_key": SERVER.key, "ca_crt": b"garbage"},
}


class TestSecrets:
    def test_a_server_certificate_is_read_and_no_key_is_kept(self) -> None:
        live = secret(tls_crt=SERVER.certificate, tls_key=SERVER.key, ca_crt=AUTHORITY.certificate)
        reading = secret_reading(live)
        assert reading.content.certificate is not None
        assert reading.content.certificate.key_matches
        assert reading.content.certificate.issuer_fingerprint
        assert reading.content.authority == AUTHORITY.certificate.decode()
        assert reading.content.problem == ""
        assert "data" not in reading.live
        kept = repr(reading)
        for key in (SERVER.key, AUTHORITY.key):
            assert base64.b64encode(key).decode() not in kept
            assert key.decode().splitlines()[1] not in kept

    def test_of_the_metadata_only_what_facts_need_is_kept(self) -> None:
        """Neither managedFields, nor labels, nor the copy of the Secret by kubectl."""
        live = secret(tls_key=SERVER.key)
        copy = {LAST_APPLIED: orjson.dumps(live["data"]).decode(), labels.UNSEAL_KEY_ID: "v2"}
        live["metadata"] |= {"managedFields": [{"manager": "kubectl"}], "annotations": copy}
        response = shallow(live)
        reading = secret_reading(live)
        assert live == response
        assert {*reading.live["metadata"]} == {*SECRET_METADATA, "annotations"}
        assert reading.live["metadata"]["annotations"] == {labels.UNSEAL_KEY_ID: "v2"}
        assert live["data"]["tls.key"] not in repr(reading)

    def test_an_authority_signs_itself(self) -> None:
        reading = secret_reading(secret(ca_crt=AUTHORITY.certificate, ca_key=AUTHORITY.key))
        certificate = gen.present(reading.content.certificate)
        assert certificate.issuer_fingerprint == certificate.fingerprint

    def test_metadata_alone_has_no_problem(self) -> None:
        live = secret()
        del live["data"]
        reading = secret_reading(live)
        assert (reading.content.certificate, reading.content.problem) == (None, "")

    @pytest.mark.parametrize("files", UNUSABLE.values(), ids=UNUSABLE)
    def test_unusable_content_is_a_problem_and_no_crash(self, files: dict[str, bytes]) -> None:
        reading = secret_reading(secret(**files))
        assert reading.content.certificate is None
        assert reading.content.problem
        assert reading.content.authority == ""

    def test_an_authority_without_its_key_can_still_be_trusted(self) -> None:
        content = secret_reading(secret(ca_crt=AUTHORITY.certificate)).content
        assert (content.certificate, content.authority) == (None, AUTHORITY.certificate.decode())
        assert "ca.key" in content.problem

    @pytest.mark.parametrize("key", [KEY, rsa.generate_private_key(65537, 2048)])
    def test_a_foreign_key_is_detected(
        self, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    ) -> None:
        reading = secret_reading(secret(tls_crt=SERVER.certificate, tls_key=pem(key)))
        assert reading.content.certificate is not None
        assert not reading.content.certificate.key_matches
        assert reading.content.certificate.issuer_fingerprint == ""

    def test_ownership_depends_on_the_cluster(self) -> None:
        reading = secret_reading(secret(a=b"b"))
        ours = secret_facts(reading, OWNER)
        theirs = secret_facts(reading, gen.cluster().with_metadata(uid="uid-2").owner())
        assert (ours.owned, ours.owner) == (True, "")
        assert (theirs.owned, theirs.owner) == (False, "OpenBaoCluster x (uid uid-x)")
