"""managers.cluster.observe.observer: the source of each fact, and its cost."""

from datetime import timedelta
from typing import Any

import pytest

from contracts.naming import labels
from contracts.records.observed import ServerClientConfig
from contracts.unseal_keys import KEYS_SOUGHT
from managers.certs.chain import fingerprints
from managers.certs.probe import ServedCertificates
from managers.certs.x509 import issue_server, make_authority
from managers.cluster.observe.observer import CLUSTER_INDEX, by_cluster
from managers.cluster.observe.secret_names import secret_names
from managers.context.reads.api_server import DISCOVERY, KEYS
from managers.context.secret_builder import secret_object
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.cache.cached_read import CachePolicy, objects_by_name
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import FakeApi, Outside, StillInformer
from tests.managers.cluster.parts import observer_of

NEW = gen.cluster()
OLD = gen.cluster().initialized()
SELF = gen.cluster().self_init()
SUPPLIED = SELF.with_spec(unseal={"credentialsSecretRef": {"name": "mine"}})
CA = make_authority("x", gen.NOW)
SERVER = issue_server(CA, ("openbao-cluster-x.local",), (), gen.NOW)
TLS_FILES = {"tls.crt": SERVER.certificate, "tls.key": SERVER.key, "ca.crt": CA.certificate}
ERROR = {"reason": "Rejected", "message": "m"}
FIRST_LOOK = [
    "get EndpointSlice kubernetes",
    "get Secret x-tls-ca",
    "get Secret x-tls-server",
    "peek Secret x-unseal-key",
    "peek Secret x-root-token",
]


class Bench:
    def __init__(self, *secrets: Object) -> None:
        self.api = FakeApi().with_objects(*((SECRET, secret) for secret in secrets))
        self.api.raw = {DISCOVERY: {"issuer": "https://i.example.com"}, KEYS: {"keys": []}}
        self.outside = Outside(self.api)
        self.caches = {kind: StillInformer(kind) for kind in (POD, PVC, STATEFUL_SET)}
        self.witness()

    def witness(self, **more: Any) -> None:
        """Probe these, too."""
        self.observer = observer_of(self.outside, self.caches, **more)

    async def look(self, cluster: gen.Cluster = NEW) -> Any:
        return await self.observer.observe(cluster.read(), cluster.owner())


# sentence: (cluster, the Secrets and whether their content is read)
SECRETS: dict[str, tuple[gen.Cluster, dict[str, bool]]] = {
    "only the metadata of keys is read": (NEW, {"x-unseal-key": False, "x-root-token": False}),
    "a cluster that initializes itself has no root token": (SELF, {"x-unseal-key": False}),
    "the metadata of a supplied key is read": (SUPPLIED, {"mine": True}),
}


@pytest.mark.parametrize(("cluster", "wanted"), SECRETS.values(), ids=SECRETS)
def test_which_secrets_are_read(cluster: gen.Cluster, wanted: dict[str, bool]) -> None:
    assert dict(secret_names(cluster.read())) == wanted


async def test_an_empty_namespace_is_observed_as_empty() -> None:
    bench = Bench()
    observed = await bench.look()
    assert (observed.stateful_set, observed.pods, observed.claims) == (None, (), ())
    assert observed.secrets == {}
    assert observed.token_issuer is None
    assert observed.api_server_hosts == ("10.96.0.1",)
    assert observed.now == bench.outside.clock.now()
    assert sorted(bench.api.take_requests()) == sorted(FIRST_LOOK)


async def test_a_second_read_sends_no_request_and_a_later_one_requests_metadata() -> None:
    bench = Bench(secret_object(NEW.owner(), "x-unseal-key", {"key": b"k"}))
    await bench.look()
    bench.api.calls.clear()
    observed = await bench.look()
    assert set(observed.secrets) == {"x-unseal-key"}
    assert bench.api.take_requests() == []
    await bench.outside.clock.advance(gen.INSTALLATION.secret_recheck)
    await bench.look()
    assert "peek Secret x-unseal-key" in bench.api.take_requests()


async def test_over_data_of_an_earlier_cluster_every_key_is_read_by_name() -> None:
    rotated = secret_object(NEW.owner(), "x.13-unseal-key", {"key": b"k"})
    bench = Bench(rotated)
    bench.caches[PVC].says(gen.claim(annotations={}))
    observed = await bench.look()
    assert "x.13-unseal-key" in observed.secrets
    requests = [request for request in bench.api.take_requests() if request.endswith("unseal-key")]
    assert len(requests) == len(set(requests)) == KEYS_SOUGHT
    # Absent Secrets are read less often than existing ones.
    bench.api.calls.clear()
    await bench.outside.clock.advance(gen.INSTALLATION.secret_recheck)
    await bench.look()
    again = [request for request in bench.api.take_requests() if request.endswith("unseal-key")]
    assert sorted(again) == ["peek Secret x-unseal-key", "peek Secret x.13-unseal-key"]


async def test_a_key_with_another_id_makes_a_new_cluster_read_the_others() -> None:
    marks = {labels.UNSEAL_KEY_ID: "another"}
    bench = Bench(secret_object(NEW.owner(), "x-unseal-key", {"key": b"k"}, annotations=marks))
    await bench.look()
    assert f"peek Secret x.{KEYS_SOUGHT}-unseal-key" in bench.api.take_requests()


async def test_the_facts_of_a_successor_are_its_own() -> None:
    """A cluster that was deleted and recreated within the maximum age of the reads."""
    bench = Bench()
    await bench.look()
    bench.api.with_objects((SECRET, secret_object(NEW.owner(), "x-unseal-key", {"key": b"k"})))
    observed = await bench.look(NEW.with_metadata(uid="uid-2"))
    assert observed.secrets["x-unseal-key"].owned is False


async def test_only_objects_of_the_cluster_are_observed() -> None:
    bench = Bench()
    elsewhere = gen.pod(1).object()
    elsewhere["metadata"]["namespace"] = "elsewhere"
    bench.caches[POD].says(gen.pod(0).object(), elsewhere, gen.pod(0, "y").object())
    bench.caches[STATEFUL_SET].says(gen.stateful_set("y").object())
    observed = await bench.look()
    assert [pod.name for pod in observed.pods] == ["x-0"]
    assert observed.stateful_set is None


# sentence: (cluster, whether the issuer is read)
ASKING = {
    "before the first boot of a cluster with a login": (gen.cluster().self_init(login=True), True),
    "not once data exists": (gen.cluster().self_init(login=True).initialized(), False),
    "not for a cluster without a login": (SELF, False),
}


@pytest.mark.parametrize(("cluster", "is_requested"), ASKING.values(), ids=ASKING)
async def test_when_the_issuer_is_read(cluster: gen.Cluster, is_requested: bool) -> None:
    bench = Bench()
    observed = await bench.look(cluster)
    assert (observed.token_issuer is not None) is is_requested
    assert (f"get path {DISCOVERY}" in bench.api.take_requests()) is is_requested


async def test_our_secret_is_trusted_and_a_foreign_one_is_not() -> None:
    ours = secret_object(OLD.owner(), "x-tls-server", TLS_FILES)
    bench = Bench(ours)
    client_config = await bench.observer.client_config(OLD.read(), OLD.owner())
    assert client_config == ServerClientConfig(CA.certificate.decode(), "openbao-cluster-x.local")
    assert bench.api.take_requests() == ["get Secret x-tls-server"]
    stranger = OLD.with_metadata(uid="uid-2").owner()
    assert await Bench(ours).observer.client_config(OLD.read(), stranger) is None
    assert await Bench().observer.client_config(OLD.read(), OLD.owner()) is None


async def test_only_ready_pods_are_probed() -> None:
    requests: list[str] = []

    async def shake(address: str, server_name: str) -> str:
        requests.append(address)
        return fingerprints(SERVER.certificate)[0]

    bench = Bench(secret_object(OLD.owner(), "x-tls-server", TLS_FILES))
    bench.witness(served=ServedCertificates(shake))
    bench.caches[POD].says(gen.pod(0).ready().object(), gen.pod(1).object())
    pods = [(await bench.look(OLD)).pods for _ in range(3)]
    assert [bool(pod.serves) for pod in pods[-1]] == [True, False]
    assert requests == ["10.0.0.1"]


async def test_without_a_certificate_no_pod_is_probed() -> None:
    bench = Bench()
    bench.witness(served=ServedCertificates())
    bench.caches[POD].says(gen.pod(0).ready().object())
    assert [pod.serves for pod in (await bench.look(OLD)).pods] == [None]


async def test_forgotten_secrets_are_read_again() -> None:
    bench = Bench()
    await bench.look()
    bench.observer.forget(ObjectKey(gen.NAMESPACE, "x"))
    bench.api.calls.clear()
    await bench.look()
    # The address of the API server belongs to no cluster.
    assert sorted(bench.api.take_requests()) == sorted(
        {*FIRST_LOOK} - {"get EndpointSlice kubernetes"}
    )


@pytest.mark.parametrize("name", ["Not_A_Name", "", "x" * 41, "a-public"])
def test_an_invalid_cluster_name_is_ignored(name: str) -> None:
    """Any user may label a pod with it, which triggers a reconcile for that name."""
    Bench().observer.forget(ObjectKey(gen.NAMESPACE, name))


def test_an_object_is_indexed_by_its_cluster() -> None:
    assert list(by_cluster(gen.pod(0).object())) == ["ns/x"]
    assert list(by_cluster({"metadata": {"name": "a", "labels": {}}})) == []
    assert list(by_cluster({"metadata": {"name": "a", "labels": {labels.CLUSTER: "b"}}})) == ["/b"]
    assert CLUSTER_INDEX


@pytest.mark.parametrize(
    ("cluster", "since"),
    [
        (OLD.with_status(workload={"rollingSince": "2029-12-31T23:59:00Z"}), timedelta(minutes=1)),
        (NEW, None),
        (OLD, None),
        (OLD.with_status(workload={"lastError": ERROR}), None),
    ],
    ids=["rolls", "new", "old", "else"],
)
async def test_the_start_of_a_rollout(cluster: gen.Cluster, since: timedelta | None) -> None:
    started = None if since is None else gen.NOW - since
    assert (await Bench().look(cluster)).rolling_since == started


@pytest.mark.parametrize(
    ("storage", "name"),
    [
        ({"mode": "ManagedPVC", "size": "1Gi"}, "x-audit"),
        ({"mode": "ExistingPVC", "existingClaimName": "mine"}, "mine"),
    ],
)
async def test_the_claim_of_audit_files_is_read_by_name(storage: dict[str, Any], name: str) -> None:
    bench = Bench()
    claims = objects_by_name(bench.api, bench.outside.clock, CachePolicy(15.0))
    observer = observer_of(bench.outside, bench.caches, named_claims=claims)
    wanting = NEW.with_spec(auditFileStorage=storage)
    assert (await observer.observe(wanting.read(), wanting.owner())).audit_claim is None
    claim = {
        "metadata": {"name": name, "namespace": gen.NAMESPACE, "uid": "u"},
        "spec": {"accessModes": ["ReadWriteMany"]},
    }
    bench.api.with_objects((PVC, claim))
    audit_claim = gen.present((await observer.observe(wanting.read(), wanting.owner())).audit_claim)
    assert (audit_claim.name, audit_claim.owner_uid) == (name, "")
    assert audit_claim.access_modes == ("ReadWriteMany",)
    # Not requested, not read.
    assert (await observer.observe(NEW.read(), NEW.owner())).audit_claim is None
