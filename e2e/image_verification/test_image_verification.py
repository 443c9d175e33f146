"""Images in a registry, signed with cosign or unsigned: verified, refused, or not available."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import VERSION
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher, Operator, run_without_refusals
from e2e.harness.registry import CLOSED_PORT, Registry, registry
from e2e.harness.waiting import throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import POD, SECRET, STATEFUL_SET
from runtime.types import annotations_of, uid_of
from tests.managers.images.sigstore_services import ISSUER, SUBJECT, KeylessSigner

KEY, OTHER_KEY = "release", "somebody"


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of all cases: one registry, one operator, one namespace."""

    api: Api
    registry: Registry
    operator: Operator
    namespace: str
    key: str
    other_key: str
    signer: KeylessSigner
    digest: str

    def policy(self, **fields: Any) -> dict[str, Any]:
        """Return a policy with the right key."""
        return {"enabled": True, "publicKey": self.key, "ignoreTlog": True, **fields}

    def create(self, name: str, image: str, policy: dict[str, Any], **spec: Any) -> Cluster:
        """Create a cluster of one server."""
        body = manifest(self.namespace, name, image=image, imageVerification=policy, **spec)
        self.api.create(CLUSTERS, body)
        return Cluster(self.api, self.namespace, name)


@pytest.fixture(scope="module")
def images(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry for the whole scenario."""
    with registry(rig, tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="module")
def signer() -> KeylessSigner:
    """A signer with an identity, and fakes of the services of Sigstore."""
    return KeylessSigner()


@pytest.fixture(scope="module")
def operator(
    images: Registry,
    signer: KeylessSigner,
    launcher: Launcher,
    audit: AuditLog,
    controller: Identity,
) -> Iterator[Operator]:
    """An operator that trusts the certificate of the registry, and those services."""
    root = images.authority.with_name("trusted_root.json")
    root.write_bytes(signer.trusted_root())
    settings = {"SSL_CERT_FILE": str(images.authority), "SIGSTORE_TRUSTED_ROOT": str(root)}
    yield from run_without_refusals(launcher, audit, controller, settings)


@pytest.fixture(scope="module")
def environment(
    api: Api,
    images: Registry,
    signer: KeylessSigner,
    operator: Operator,
    make_namespace: MakeNamespace,
) -> Environment:
    """Push one image and sign it."""
    key, other_key = images.new_key(KEY), images.new_key(OTHER_KEY)
    digest = images.push(VERSION)
    images.sign(digest, KEY)
    return Environment(api, images, operator, make_namespace(), key, other_key, signer, digest)


def image_of(pod: dict[str, Any]) -> str:
    """Return the image of a pod."""
    return str(pod["spec"]["containers"][0]["image"])


@pytest.mark.timeout(1800)
def test_pods_run_the_verified_digest_when_the_tag_moves_or_the_registry_fails(
    environment: Environment,
) -> None:
    tag = environment.registry.image(VERSION)
    pinned = f"{tag.removesuffix(f':{VERSION}')}@{environment.digest}"
    cluster = environment.create("signed", tag, environment.policy())
    cluster.await_available(180.0)
    (pod,) = cluster.pods()
    assert image_of(pod) == pinned
    condition = cluster.await_condition("ImageVerified", reason="ImageVerified", seconds=1.0)
    assert pinned in condition["message"]
    live = environment.api.get(STATEFUL_SET, environment.namespace, "signed")
    assert annotations_of(live)[labels.IMAGE_VERIFICATION].endswith(f" {pinned}")

    # The tag moves to another signed image: not the one that was verified for this cluster.
    moved = environment.registry.push(VERSION, moved="yes")
    assert moved != environment.digest
    environment.registry.sign(moved, KEY)
    environment.api.patch(
        CLUSTERS, environment.namespace, "signed", {"spec": {"runtime": {"restartAt": "now"}}}
    )
    new = until(
        "the pod was replaced",
        lambda: next(
            (other for other in cluster.ready_pods() if uid_of(other) != uid_of(pod)), None
        ),
        120.0,
    )
    assert image_of(new) == pinned
    cluster.await_available()

    environment.registry.stop()
    before = uid_of(cluster.pods()[0])
    environment.api.patch(
        CLUSTERS, environment.namespace, "signed", {"spec": {"service": {"type": "NodePort"}}}
    )
    waiting = environment.create(
        "waiting", environment.registry.image(f"v{VERSION}"), environment.policy()
    )
    waiting.await_condition("Reconciling", reason="ImageRegistryUnavailable", seconds=60.0)
    assert environment.api.find(STATEFUL_SET, environment.namespace, "waiting") is None
    throughout(
        "the cluster stays ready with the same pod",
        lambda: (
            bool(cluster.condition("Ready", "True"))
            and [uid_of(ready_pod) for ready_pod in cluster.ready_pods()] == [before]
        ),
        5.0,
    )
    environment.registry.start()
    # A new cluster gets the current image of its tag, verified by the older scheme.
    later = environment.registry.push(f"v{VERSION}", note="later")
    environment.registry.sign(later, KEY, older=True)
    waiting.await_available(240.0)
    assert image_of(waiting.pods()[0]).endswith(f"@{later}")


@pytest.mark.timeout(300)
def test_an_unverified_image_never_becomes_a_pod(environment: Environment) -> None:
    unsigned = environment.registry.push(f"{VERSION}_unsigned", signed="no")
    tag = environment.registry.image(VERSION)
    named = f"{tag.removesuffix(f':{VERSION}')}@{unsigned}"
    cases = {
        "unsigned": (named, environment.policy(), "has no signature"),
        "stranger": (
            tag,
            environment.policy(publicKey=environment.other_key),
            "does not match the key",
        ),
        "unlogged": (tag, environment.policy(ignoreTlog=False), "not in a transparency log"),
    }
    clusters = {
        name: environment.create(name, image, spec) for name, (image, spec, _) in cases.items()
    }
    for name, cluster in clusters.items():
        condition = cluster.await_condition(
            "Stalled", reason="ImageVerificationFailed", seconds=60.0
        )
        assert cases[name][2] in condition["message"]
        assert cluster.condition("ImageVerified", "False", "ImageVerificationFailed")
    for name in cases:
        assert environment.api.find(STATEFUL_SET, environment.namespace, name) is None
        assert not [
            pod for pod in environment.api.list(POD, environment.namespace) if name in str(pod)
        ]


@pytest.mark.timeout(300)
def test_a_keyless_signature_is_verified_by_its_identity(
    environment: Environment, namespace: str
) -> None:
    environment = replace(environment, namespace=namespace)
    tag = f"{VERSION}_keyless"
    digest = environment.registry.push(tag, keyless="yes")
    named = f"{environment.registry.image(tag).removesuffix(f':{tag}')}@{digest}"
    exact = {"enabled": True, "issuer": ISSUER, "subject": f"{SUBJECT}0"}
    environment.registry.attach(digest, environment.signer.bundle(digest))
    other = environment.create("other", named, exact)
    condition = other.await_condition("Stalled", reason="ImageVerificationFailed", seconds=60.0)
    assert "the certificate names another subject" in condition["message"]
    assert environment.api.find(STATEFUL_SET, environment.namespace, "other") is None
    pattern = {"enabled": True, "issuerRegExp": f"^{ISSUER}$", "subjectRegExp": "@refs/tags/v"}
    cluster = environment.create("pattern", named, pattern)
    cluster.await_available(180.0)
    assert image_of(cluster.pods()[0]) == named
    cluster.await_condition("ImageVerified", reason="ImageVerified", seconds=5.0)


@pytest.mark.timeout(300)
def test_warn_uses_the_tag_and_reports_the_failure(
    environment: Environment, namespace: str
) -> None:
    # A verification is cached per namespace for some minutes: this namespace has none yet.
    environment = replace(environment, namespace=namespace)
    environment.registry.push(f"v{VERSION}", warned="yes")
    image = environment.registry.image(f"v{VERSION}")
    cluster = environment.create("warned", image, environment.policy(failurePolicy="Warn"))
    cluster.await_available(180.0)
    assert image_of(cluster.pods()[0]) == image
    cluster.await_condition("ImageVerified", "False", "ImageVerificationFailed", seconds=5.0)
    until(
        "an event reports the failure",
        lambda: (
            "ImageVerificationFailed"
            in environment.api.rig.kubectl(
                "-n", environment.namespace, "get", "events", "-o", "wide"
            )
        ),
        30.0,
    )


@pytest.mark.timeout(300)
def test_the_registry_login_is_read_from_the_pull_secret(
    environment: Environment, namespace: str
) -> None:
    environment = replace(environment, namespace=namespace)
    image = environment.registry.image(VERSION, port=CLOSED_PORT)
    cluster = environment.create(
        "private",
        image,
        environment.policy(),
        imagePullSecrets=[{"name": "login"}],
    )
    condition = cluster.await_condition("Stalled", reason="ImageVerificationFailed", seconds=60.0)
    assert "pull secret" in condition["message"]
    environment.api.create(SECRET, environment.registry.pull_secret(environment.namespace, "login"))
    # The signature of the older scheme names the open port, so only the newer one can match.
    digest = environment.registry.push(VERSION, private="yes")
    environment.registry.sign(digest, KEY)
    cluster.await_available(240.0)
    assert image_of(cluster.pods()[0]).endswith(f"@{digest}")
    assert "open sesame" not in environment.operator.log.read_text()
