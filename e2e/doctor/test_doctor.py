"""Ten real faults of clusters, and the first finding of `kubectl bao doctor` on each.

No fault is simulated: a certificate expires, a volume is full (a tmpfs, because the volumes of the
rig have no size), servers are stopped, a Secret has another key, an API server calls a webhook that
does not respond. Five clusters share one operator, which is killed last.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
import yaml

from baoctl.process.parts import LEASE_NAME
from contracts.admission.managed_objects import LOCK_SCALE
from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness import certificates, policies
from e2e.harness.backups import SELDOM, backup_now
from e2e.harness.clusters import Cluster
from e2e.harness.command_line import CommandLine
from e2e.harness.full_volume import full_volume
from e2e.harness.installation import NAMESPACE, Identity, as_data
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import VERSION, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher, Operator
from e2e.harness.server_process import server_pid
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from runtime.builtin_kinds import JOB, LEASE, POD, PVC, SECRET, SERVICE

WEB, SEALED, EXPIRING, IMAGE, THREE = "web", "sealed", "expiring", "image", "three"
CLAIM, OWN_KEY, HOOK = "no-volume", "own-key", "does-not-answer"
NO_IMAGE = f"localhost/no-such-image:{VERSION}"
# A server needs a quarter of it to start.
CERTIFICATE_LIFE: Final = timedelta(seconds=80)
SECONDS = 60.0
# The exit status of doctor if it has findings.
HAS_FINDINGS = 3
# The operator checks the policies every ten minutes by default.
RECHECK = {"ADMISSION_RECHECK_SECONDS": "1"}
pytestmark = pytest.mark.timeout(400)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A namespace with clusters, and the command line of their user."""

    api: Api
    cli: CommandLine
    namespace: str

    def cluster(self, name: str) -> Cluster:
        """One of the clusters."""
        return Cluster(self.api, self.namespace, name)

    def findings(self, name: str) -> list[dict[str, str]]:
        """Return the findings of doctor, the cause first."""
        (report,) = self.cli.json("doctor", name, "-n", self.namespace)
        return list(report["findings"])

    def await_cause(self, name: str, text: str) -> None:
        """Wait until the first finding of doctor contains `text`, and check the text output too."""
        watch, others = Stopwatch(), list[str]()

        def first() -> bool:
            cause = next((finding["cause"] for finding in self.findings(name)), "no problems found")
            if text not in cause and cause not in others:
                others.append(cause)
            return text in cause

        until(f"doctor reports {text!r} first for {name}", first, SECONDS, every=0.5)
        seconds = watch.seconds
        answer = self.cli.run("doctor", name, "-n", self.namespace)
        print(f"\n{seconds:.1f} s after the fault; until then: {', '.join(others) or 'the same'}")
        print(answer.out)
        assert answer.status == HAS_FINDINGS
        line = next(row for row in answer.out.splitlines() if row.startswith("1. "))
        assert text in line

    def await_healthy(self, name: str) -> None:
        """Wait until doctor has no findings."""
        until(
            f"doctor has no findings for {name}",
            lambda: not self.findings(name),
            SECONDS,
            every=0.5,
        )


@pytest.fixture(scope="module")
def under_policies(rig: Rig) -> Iterator[None]:
    with policies.in_force(rig):
        yield


@pytest.fixture(scope="module")
def operator(rig: Rig, launcher: Launcher, controller: Identity, under_policies: None) -> Operator:
    """An operator that holds the Lease."""
    environment = {"OPERATOR_IMAGE": rig.load_operator_image(), **RECHECK}
    started = launcher.start(controller, environment=environment)
    started.faults_expected = True
    return started


@pytest.fixture(scope="module")
def scenario(rig: Rig, api: Api, operator: Operator, make_namespace: MakeNamespace) -> Scenario:
    """Five clusters; one of them never starts, and the certificate of another one expires."""
    scenario = Scenario(api, CommandLine(rig), make_namespace())
    for secret in (own_key(scenario.namespace, "a"), *expiring_certificate(scenario.namespace)):
        api.create(SECRET, secret)
    api.create(PVC, unbound_claim(scenario.namespace))
    requests = self_init(key_value_engine(), *client_login(scenario.namespace))
    target = {"provider": "pvc", "bucket": "web", "pvc": {"claimName": CLAIM}}
    specs: dict[str, Object] = {
        EXPIRING: {"tls": {"mode": "External"}},
        WEB: {
            # Not Development: no admission policy protects clusters of that profile.
            "profile": None,
            "selfInit": requests,
            "backup": {"schedule": SELDOM, "target": target},
        },
        SEALED: {"unseal": static_seal()},
        THREE: {"replicas": 3},
        IMAGE: {"image": NO_IMAGE},
    }
    for name, spec in specs.items():
        api.create(CLUSTERS, manifest(scenario.namespace, name, **spec))
    for name in (EXPIRING, WEB, SEALED):
        scenario.cluster(name).await_available()
    return scenario


def own_key(namespace: str, letter: str) -> Object:
    """A Secret with an unseal key."""
    return {
        "metadata": {"name": OWN_KEY, "namespace": namespace},
        "data": {"key": as_data(32 * letter)},
    }


def static_seal() -> Object:
    """spec.unseal with the key of `own_key`."""
    return {
        "type": "static",
        "credentialsSecretRef": {"name": OWN_KEY},
        "static": {"currentKey": "file:///etc/bao/unseal/key", "currentKeyID": "one"},
    }


def expiring_certificate(namespace: str) -> tuple[Object, Object]:
    """Secrets of a server certificate that expires during the scenario, and of its CA."""
    root = certificates.authority("Example Root")
    days = CERTIFICATE_LIFE / timedelta(days=1)
    served = certificates.leaf(root, (names.raft_server_name(EXPIRING),), days=days)
    files = {"tls_crt": served.pem, "tls_key": served.key_pem, "ca_crt": root.pem}
    return (
        certificates.secret(namespace, names.tls_server_secret(EXPIRING), **files),
        certificates.secret(namespace, names.tls_ca_secret(EXPIRING), ca_crt=root.pem),
    )


def unbound_claim(namespace: str) -> Object:
    """A PVC that no provisioner binds: a pod with it never starts."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "no-such-class",
        "resources": {"requests": {"storage": "64Mi"}},
    }
    return {"metadata": {"name": CLAIM, "namespace": namespace}, "spec": spec}


def test_an_image_that_cannot_be_pulled(scenario: Scenario) -> None:
    scenario.await_cause(IMAGE, f"{NO_IMAGE} cannot be pulled")


def test_a_paused_cluster(scenario: Scenario) -> None:
    scenario.await_healthy(WEB)
    change(scenario, WEB, paused=True)
    scenario.await_cause(WEB, "The cluster has been paused for")
    change(scenario, WEB, paused=None)
    scenario.await_healthy(WEB)


def test_a_stale_operation_lock(scenario: Scenario) -> None:
    """The backup is deleted and its Job is not; the pod of the Job waits for a volume."""
    run = backup_now(scenario.cluster(WEB), "hanging")
    job = until("the Job is created", run.job, SECONDS)["metadata"]["name"]
    scenario.await_healthy(WEB)
    kubectl(scenario, "delete", "openbaobackup", "hanging", "--cascade=orphan")
    scenario.await_cause(WEB, "operation lock of openbaobackup/hanging is stale")
    unlock(scenario, "job", job)
    scenario.api.delete(JOB, scenario.namespace, job)
    scenario.await_healthy(WEB)


def test_a_missing_admission_policy(scenario: Scenario, rig: Rig) -> None:
    binding = policies.unbind(rig, LOCK_SCALE.full_name())
    try:
        scenario.await_cause(WEB, "Admission policies of the operator are missing")
    finally:
        policies.bind(rig, binding)
    scenario.await_healthy(WEB)


def test_a_webhook_that_refuses_all_writes(scenario: Scenario, rig: Rig) -> None:
    """A Service is deleted, and cannot be created again."""
    service = names.public_service(WEB)
    unlock(scenario, "service", service)
    rig.kubectl("apply", "-f", "-", input=dead_webhook(scenario.namespace))
    try:
        scenario.api.delete(SERVICE, scenario.namespace, service)
        scenario.await_cause(WEB, "An admission rule refuses writes")
    finally:
        rig.kubectl("delete", "validatingwebhookconfigurations", HOOK)
    scenario.await_healthy(WEB)
    assert scenario.api.find(SERVICE, scenario.namespace, service)


def test_a_wrong_seal_secret(scenario: Scenario) -> None:
    """The Secret has another key, and the server restarts."""
    kubectl(scenario, "apply", "-f", "-", input=as_yaml(own_key(scenario.namespace, "b"), "Secret"))
    scenario.api.delete(POD, scenario.namespace, names.pod(SEALED, 0))
    scenario.await_cause(SEALED, "The key of the seal is missing or wrong")


def test_no_quorum(scenario: Scenario) -> None:
    """Two of three servers are stopped with SIGSTOP."""
    scenario.cluster(THREE).await_available()
    for ordinal in (1, 2):
        process = server_pid(scenario.namespace, names.pod(THREE, ordinal))
        assert process is not None
        os.kill(process, signal.SIGSTOP)
    scenario.await_cause(THREE, "There is no quorum")


def test_an_expired_certificate(scenario: Scenario) -> None:
    scenario.await_cause(EXPIRING, "The certificate of the servers has expired")


def test_a_full_volume(scenario: Scenario) -> None:
    server = names.pod(WEB, 0)
    with full_volume(scenario.cluster(WEB), server):
        scenario.api.delete(POD, scenario.namespace, server)
        scenario.await_cause(WEB, f"The data volume of {server} is full")


def test_the_operator_is_down(scenario: Scenario, operator: Operator) -> None:
    """This finding comes before all findings that need the operator.

    The Lease becomes ten minutes older, instead of a wait until doctor reports it.
    """
    operator.kill()
    since = datetime.now(UTC) - timedelta(minutes=10)
    renewed = {"spec": {"renewTime": since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
    scenario.api.patch(LEASE, NAMESPACE, LEASE_NAME, renewed)
    for name in (SEALED, IMAGE, EXPIRING):
        scenario.await_cause(name, "The operator is down")


def change(scenario: Scenario, name: str, **spec: Any) -> None:
    """Merge fields into the spec of a cluster."""
    scenario.api.patch(CLUSTERS, scenario.namespace, name, {"spec": spec})


def kubectl(scenario: Scenario, *words: str, input: str | None = None) -> None:
    """Call kubectl in the namespace."""
    scenario.api.rig.kubectl("-n", scenario.namespace, *words, input=input)


def unlock(scenario: Scenario, kind: str, name: str) -> None:
    """Allow an administrator to delete an object that the policies protect (docs/locks.md)."""
    kubectl(scenario, "annotate", kind, name, f"{labels.MAINTENANCE}=true")


def as_yaml(body: Object, kind: str) -> str:
    """Return an object of the core group as a manifest."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": kind, **body})


def dead_webhook(namespace: str) -> str:
    """A webhook for the Services of one namespace, at a port where nothing listens."""
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["services"],
    }
    hook = {
        "name": "services.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 2,
        "failurePolicy": "Fail",
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rule],
    }
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": HOOK},
        "webhooks": [hook],
    }
    return yaml.safe_dump(body)
