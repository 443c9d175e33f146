"""managers.cluster.resolve.resolve: the resolved fields of a spec, and refusals."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.cluster.resolve.resolve import is_initialized, resolve
from runtime.outcome import Blocked
from tests import gen

OWN_AUDIENCE = f"openbao-internal/{gen.NAMESPACE}/x"
NEW, NOTHING = gen.cluster(), gen.world()
OLD = NEW.initialized()


def booting(*pods: gen.Pod) -> gen.World:
    """The StatefulSet of the first boot, and these pods."""
    return gen.world().with_set(gen.stateful_set().first_boot()).with_pods(*pods)


def refusal(cluster: gen.Cluster, world: gen.World | None = None) -> Blocked | None:
    answer = with_pools(cluster, (world or gen.world()).facts())
    return answer if isinstance(answer, Blocked) else None


def with_pools(
    cluster: gen.Cluster, facts: Observed, status: dict[str, Any] | None = None
) -> Resolved | Blocked:
    having = cluster if status is None else cluster.with_status(blueGreen=status)
    return resolve(having.read(), having.owner(), facts, gen.INSTALLATION)


class Row(NamedTuple):
    spec: Mapping[str, Any]
    path: str
    value: Any


# sentence: (spec, the field of Resolved with dots into its parts, its value)
MEANINGS = {
    "three servers by default": Row({}, "replicas", 3),
    "a leading v of a version is dropped": Row({"version": "v2.4.0"}, "version", "2.4.0"),
    "the image is the installation's, with the version as tag": Row(
        {"version": "v2.4.1"}, "pod.image", "registry.example.com/openbao:2.4.1"
    ),
    "an image of the spec is used unchanged": Row(
        {"image": "example.com/bao@sha256:" + "0" * 64},
        "pod.image",
        "example.com/bao@sha256:" + "0" * 64,
    ),
    "no storage class by default": Row({}, "storage_class", None),
    "a storage class of the spec": Row(
        {"storage": {"size": "2Gi", "storageClassName": "fast"}}, "storage_class", "fast"
    ),
    "the public Service is ClusterIP by default": Row({}, "service_type", "ClusterIP"),
    "the public Service may have another type": Row(
        {"service": {"type": "LoadBalancer", "annotations": {"a": "b"}}},
        "service_annotations",
        {"a": "b"},
    ),
    "the default ServiceAccount name": Row({}, "service_account", "x-serviceaccount"),
    "a ServiceAccount name of the spec": Row(
        {"serviceAccount": {"name": "mine"}}, "service_account", "mine"
    ),
    "annotations of the ServiceAccount": Row(
        {"serviceAccount": {"annotations": {"a": "b"}}}, "service_account_annotations", {"a": "b"}
    ),
    "labels of pods": Row({"podMetadata": {"labels": {"a": "b"}}}, "pod.labels", {"a": "b"}),
    "annotations of pods": Row(
        {"podMetadata": {"annotations": {"a": "b"}}},
        "pod.annotations",
        {"a": "b", "openbao.org/unseal-keys": "operator-generated-v1=key"},
    ),
    "annotations without a name keep the default ServiceAccount name": Row(
        {"serviceAccount": {"annotations": {"a": "b"}}}, "service_account", "x-serviceaccount"
    ),
    "a generated key": Row({}, "unseal_secret", "x-unseal-key"),
    "a supplied key": Row(
        {"unseal": {"credentialsSecretRef": {"name": "mine"}}}, "unseal_secret", "mine"
    ),
    "restartAt is read from runtime": Row({"runtime": {"restartAt": "1"}}, "pod.restart_at", "1"),
    "the deprecated restartAt": Row({"maintenance": {"restartAt": "2"}}, "pod.restart_at", "2"),
    "the newer restartAt takes precedence": Row(
        {"runtime": {"restartAt": "1"}, "maintenance": {"restartAt": "2"}}, "pod.restart_at", "1"
    ),
    "no restart": Row({}, "pod.restart_at", ""),
    "pull secrets keep their order": Row(
        {"imagePullSecrets": [{"name": "b"}, {"name": "a"}]}, "pod.pull_secrets", ("b", "a")
    ),
    "a certificate is renewed a month before its end": Row({}, "rotate_before", timedelta(days=30)),
    "a certificate is renewed after the rotation period": Row(
        {"tls": {"rotationPeriod": "90m"}}, "rotate_before", timedelta(minutes=90)
    ),
    "the default DNS namespace": Row({}, "network.dns_namespace", "kube-system"),
    "the API server is discovered by default": Row({}, "network.api_server_cidrs", ()),
    "an API server range of the spec": Row(
        {"network": {"apiServerCIDR": "10.0.0.0/8"}}, "network.api_server_cidrs", ("10.0.0.0/8",)
    ),
    "without self-init a root token is left": Row({}, "self_init", False),
}


@pytest.mark.parametrize(("spec", "path", "value"), MEANINGS.values(), ids=MEANINGS)
def test_resolved_field(spec: Mapping[str, Any], path: str, value: Any) -> None:
    resolved: Any = gen.resolved(gen.cluster(**spec))
    for step in path.split("."):
        resolved = getattr(resolved, step)
    assert resolved == value


def test_extra_names_and_addresses_are_separated() -> None:
    wished = ["bao.example.com", "192.0.2.10", "2001:DB8:0:0::1", "*.apps.example.com"]
    meant = gen.resolved(gen.cluster(tls={"extraSANs": wished}))
    assert meant.certificate_names[-2:] == ("bao.example.com", "*.apps.example.com")
    # In the canonical form of certificates: otherwise it would be issued again and again.
    assert meant.certificate_addresses == ("127.0.0.1", "::1", "192.0.2.10", "2001:db8::1")


def test_the_name_that_peers_check_comes_first_and_no_name_twice() -> None:
    wished = ["openbao-cluster-x.local", "localhost", "127.0.0.1"]
    meant = gen.resolved(gen.cluster(tls={"extraSANs": wished}))
    assert meant.certificate_names[0] == "openbao-cluster-x.local"
    assert len(set(meant.certificate_names)) == len(meant.certificate_names)
    assert meant.certificate_addresses == ("127.0.0.1", "::1")


def test_a_change_of_replicas_changes_no_name() -> None:
    few, many = gen.resolved(gen.cluster()), gen.resolved(gen.cluster(replicas=5))
    assert few.certificate_names == many.certificate_names
    assert few.config == many.config


# sentence: (cluster, the world, reason, texts in the message)
REFUSALS: dict[str, tuple[gen.Cluster, gen.World, str, str]] = {
    "a spec that breaks two rules": (
        gen.cluster(tls={"enabled": False}, version="2.3.0"),
        NOTHING,
        "InvalidSpec",
        "spec.tls.enabled, spec.version",
    ),
    "a spec with an unsupported feature": (
        gen.cluster(
            controllerJWTMode="Target",
            selfInit={
                "enabled": True,
                "oidc": {"enabled": True},
                "requests": [gen.clusters.REQUEST],
            },
        ),
        NOTHING,
        "UnsupportedFields",
        "spec.controllerJWTMode",
    ),
    "a first server that restarted before it was ready": (
        NEW,
        booting(gen.pod().ready().with_restarts(code=2)),
        "SelfInitFailed",
        "data-x-0",
    ),
}


@pytest.mark.parametrize(("cluster", "world", "reason", "named"), REFUSALS.values(), ids=REFUSALS)
def test_refused(cluster: gen.Cluster, world: gen.World, reason: str, named: str) -> None:
    outcome = gen.present(refusal(cluster, world))
    assert outcome.reason == reason
    for word in named.split(", "):
        assert word in outcome.message


# sentence: (cluster, the world)
ACCEPTED: dict[str, tuple[gen.Cluster, gen.World]] = {
    "the version that runs": (NEW.initialized("2.4.0"), NOTHING),
    "a newer one": (gen.cluster(version="2.10.0").initialized("2.9.9"), NOTHING),
    "the same version with a v": (gen.cluster(version="v2.4.0").initialized("2.4.0"), NOTHING),
    "any version while none is known": (NEW.with_status(currentVersion=""), NOTHING),
    "any version if the status has an invalid one": (
        NEW.with_status(currentVersion="main"),
        NOTHING,
    ),
    "an unsupported field that is not essential": (
        gen.cluster(readReplicas={"replicas": 1}),
        NOTHING,
    ),
    "a first server that starts for the first time": (NEW, booting(gen.pod().ready())),
    "a first server that tries again unready": (NEW, booting(gen.pod().with_restarts())),
    "a restart once data is known to exist": (OLD, booting(gen.pod().ready().with_restarts())),
    "a restart under a template without a first boot": (
        NEW,
        NOTHING.with_set(gen.stateful_set()).with_pods(gen.pod().ready().with_restarts()),
    ),
}


@pytest.mark.parametrize(("cluster", "world"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(cluster: gen.Cluster, world: gen.World) -> None:
    assert refusal(cluster, world) is None


EVIDENCE: dict[str, tuple[gen.Cluster, gen.World, bool]] = {
    "nothing exists": (NEW, NOTHING, False),
    "the first pod starts": (NEW, booting(gen.pod()), False),
    "a volume alone is no evidence": (NEW, NOTHING.with_claims(0), False),
    "the first pod is ready": (NEW, booting(gen.pod().ready()), True),
    "a terminating pod is no evidence": (NEW, booting(gen.pod().ready().terminating()), False),
    "a label alone is no evidence": (
        NEW,
        booting(gen.pod().with_server_labels(initialized="true")),
        False,
    ),
    "the status is evidence": (OLD, NOTHING, True),
    "a lost status, and no first boot in the template": (
        NEW,
        NOTHING.with_set(gen.stateful_set()),
        True,
    ),
    "a deleted StatefulSet is no evidence": (
        NEW,
        NOTHING.with_set(gen.stateful_set().terminating()),
        False,
    ),
}


@pytest.mark.parametrize(("cluster", "world", "initialized"), EVIDENCE.values(), ids=EVIDENCE)
def test_evidence_of_data(cluster: gen.Cluster, world: gen.World, initialized: bool) -> None:
    assert is_initialized(cluster.read(), world.facts()) is initialized
    assert gen.resolved(cluster, world).initialized is initialized


def test_the_operator_login_needs_the_setting_and_the_issuer() -> None:
    wishing = gen.cluster().self_init(login=True)
    assert gen.resolved(wishing, gen.world()).config.oidc is None
    login = gen.present(gen.resolved(wishing, gen.world().with_issuer()).config.oidc)
    assert login.issuer == "https://issuer.example.com"
    operator, *jobs = login.roles
    assert operator.subjects == ("system:serviceaccount:operators:the-operator",)
    assert [role.policy for role in jobs] == [
        "openbao-operator-backup",
        "openbao-operator-upgrade",
        "openbao-operator-restore",
    ]
    assert login.audience == OWN_AUDIENCE
    without = gen.resolved(gen.cluster().self_init(), gen.world().with_issuer())
    assert without.config.oidc is None
    assert not without.wants_operator_login


def _with_audience(audience: str | None) -> gen.Cluster:
    whole = gen.cluster().self_init(login=True)
    wish = whole.spec["selfInit"]
    return whole.with_spec(
        selfInit={**wish, "oidc": {"enabled": True, **({"audience": audience} if audience else {})}}
    )


@pytest.mark.parametrize(
    "audience", ["other", f"{OWN_AUDIENCE}s", "openbao-internal/", "openbao-internal/y/x"]
)
def test_another_audience_than_the_operators_is_refused_before_the_first_boot(
    audience: str,
) -> None:
    blocked = gen.present(refusal(_with_audience(audience), gen.world().with_issuer()))
    assert blocked.reason == "OIDCBootstrapConfigurationInvalid"
    assert OWN_AUDIENCE in blocked.message
    assert refusal(_with_audience("other").initialized()) is None


@pytest.mark.parametrize("audience", [None, "openbao-internal", OWN_AUDIENCE])
def test_the_roles_bind_the_audience_of_their_own_cluster(audience: str | None) -> None:
    login = gen.present(
        gen.resolved(_with_audience(audience), gen.world().with_issuer()).config.oidc
    )
    assert login.audience == OWN_AUDIENCE


def test_the_issuer_of_the_spec_takes_precedence() -> None:
    oidc = {"enabled": True, "issuer": "https://mine.example.com"}
    wish = {"enabled": True, "requests": [], "oidc": oidc}
    base = gen.cluster().self_init().spec["selfInit"]
    cluster = gen.cluster(selfInit={**wish, "requests": base["requests"]})
    login = gen.present(gen.resolved(cluster, gen.world().with_issuer()).config.oidc)
    assert login.issuer == "https://mine.example.com"


# --- a status without the serving pool: no server is created while others have the data ---

REVISION = "0123456789abcdef"
STRAY = f"x-{REVISION}"


@pytest.mark.parametrize("cluster", [gen.cluster(), gen.cluster().initialized()])
@pytest.mark.parametrize("status", [None, {"blueRevision": REVISION}])
def test_an_unknown_pool_with_data_blocks(
    cluster: gen.Cluster, status: dict[str, Any] | None
) -> None:
    facts = replace(gen.world().facts(), unknown_pools=(STRAY,))
    resolved = gen.expect(Blocked, with_pools(cluster, facts, status))
    assert resolved.reason == "PrerequisitesMissing"
    assert STRAY in resolved.message
    assert "--subresource=status" in resolved.message


def test_volumes_of_an_abandoned_pool_do_not_block_a_cluster_with_a_status() -> None:
    """The serving StatefulSet was deleted: it is recreated on its volumes."""
    cluster = gen.cluster().initialized()
    facts = replace(gen.running(cluster).facts(), stateful_set=None, unknown_pools=("x",))
    assert facts.pods
    assert not isinstance(with_pools(cluster, facts, {"blueRevision": REVISION}), Blocked)
    assert isinstance(with_pools(cluster, facts), Blocked)
