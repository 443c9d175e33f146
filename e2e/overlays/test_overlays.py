"""Each overlay of deploy, installed with the operator image, creates a cluster.

It is installed in another namespace than that of the manifests, so all references must follow. The
rights of each overlay are tested in tests/integration/test_overlays.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from contracts import tenancy
from contracts.admission.operator_writes import RESTRICT_SECRETS
from contracts.api.group import CLUSTERS, TENANTS
from e2e.conftest import sweep
from e2e.demo.manifests import Installation, as_list, operator_objects
from e2e.harness.audit import AuditLog, refusals
from e2e.harness.clusters import Cluster
from e2e.harness.impersonation import account, foreign_secret_refusal
from e2e.harness.installation import ACCOUNT, install
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import IMAGE_REPOSITORY
from e2e.harness.overlays import LISTED, copy_overlays, remove_objects, render_overlay
from e2e.harness.prometheus import Prometheus, prometheus
from e2e.harness.tenants import make_tenant
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from release.manifests import MODES
from runtime.builtin_kinds import NAMESPACE, POD, ROLE
from runtime.types import Object, Resource

DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
HOME = "bao-ops"
OPERATORS = "app.kubernetes.io/name=openbao-operator"
TENANT = "one"
SECONDS = 60.0
# Shorter than the operator's timeout for servers that do not terminate, which must not expire here.
GONE_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class Installed:
    """An overlay whose pods are ready."""

    overlay: str
    mark: int
    """The mark of the audit log before the overlay was applied."""

    @property
    def clusters(self) -> str:
        """A namespace where the operator manages clusters."""
        return HOME if self.overlay == "single-namespace" else LISTED[1]

    @property
    def tenants(self) -> bool:
        """Whether the namespace must be provisioned first."""
        return self.overlay == "multi-tenant"

    @property
    def actors(self) -> set[str]:
        """The users that must appear in the audit log of the API server."""
        others = ("openbao-operator-provisioner", "openbao-operator-provisioner-delegate")
        return {account(HOME, name).name for name in (ACCOUNT, *(others if self.tenants else ()))}


@pytest.fixture(scope="module")
def checkout(
    rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Installation]]:
    """The manifests for our namespace, and the image; restores the RBAC objects of the rig."""
    installation = Installation(rig.load_operator_image(), "IfNotPresent", IMAGE_REPOSITORY)
    _clean(api)
    for name in (HOME, *LISTED):
        until(f"{name} is gone", partial(_is_gone, api, name), SECONDS)
    for name in LISTED:
        api.make_namespace(name)
    yield copy_overlays(tmp_path_factory.mktemp("checkout"), HOME), installation
    install(rig)
    _clean(api)


@pytest.fixture(scope="module")
def metrics(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One Prometheus, whichever overlay is installed."""
    with prometheus(rig, tmp_path_factory.mktemp("prometheus")) as server:
        yield server


@pytest.fixture(params=MODES)
def installed_overlay(
    rig: Rig,
    api: Api,
    audit: AuditLog,
    checkout: tuple[Path, Installation],
    request: pytest.FixtureRequest,
) -> Iterator[Installed]:
    """Install an overlay, with one pod per Deployment, and uninstall it afterwards."""
    overlay = str(request.param)
    folder, installation = checkout
    mark = audit.mark()
    objects = operator_objects(render_overlay(rig, folder, overlay), installation)
    deployments = [obj for obj in objects if obj["kind"] == "Deployment"]
    for deployment in deployments:
        deployment["spec"]["replicas"] = 1
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    rig.kubectl(*apply, input=as_list(objects), timeout=120.0)
    try:
        for name in _names(deployments):
            until(f"{name} is ready", partial(_is_ready, api, name), SECONDS)
        yield Installed(overlay, mark)
    finally:
        for name in _names(deployments):
            api.delete(DEPLOYMENT, HOME, name)
        until("the pods are gone", lambda: not api.list(POD, HOME, OPERATORS), SECONDS)
        remove_objects(rig, objects)


def _clean(api: Api) -> None:
    """Delete the namespaces, and tenants that a failed test left."""
    # The kind does not exist before the first overlay.
    with missing_ok():
        for name in _names(api.list(TENANTS, HOME)):
            api.patch(TENANTS, HOME, name, {"metadata": {"finalizers": None}})
            api.delete(TENANTS, HOME, name)
    for name in (HOME, *LISTED):
        sweep(api, name)


def _names(objects: "list[Object]") -> "list[str]":
    return [str(obj["metadata"]["name"]) for obj in objects]


def _is_ready(api: Api, name: str) -> bool:
    status = api.get(DEPLOYMENT, HOME, name).get("status") or {}
    return bool(status.get("readyReplicas", 0) == 1)


def _is_gone(api: Api, namespace: str) -> bool:
    return api.find(NAMESPACE, None, namespace) is None


@pytest.mark.timeout(300)
def test_an_overlay_runs_a_cluster_without_refused_requests(
    rig: Rig, api: Api, audit: AuditLog, installed_overlay: Installed, metrics: Prometheus
) -> None:
    namespace, watch = installed_overlay.clusters, Stopwatch()
    if installed_overlay.tenants:
        make_tenant(api, namespace, home=HOME, name=TENANT)
    api.create(CLUSTERS, manifest(namespace, "one", selfInit=self_init(key_value_engine())))
    cluster = Cluster(api, namespace, "one")
    cluster.await_available()
    cluster.await_condition("OperatorLoginReady", reason="OperatorLoginTrusted")
    print(f"\n{installed_overlay.overlay}: Available and logged in after {watch.seconds:.1f} s")

    assert_is_scraped(api, metrics)
    has_policies = installed_overlay.overlay != "without-admission"
    alerts = [] if has_policies else ["OpenBaoAdmissionPoliciesMissing"]
    until(f"Prometheus has only alerts {alerts}", lambda: list(metrics.alerts()) == alerts, SECONDS)
    refusal = foreign_secret_refusal(rig, account(HOME, ACCOUNT), namespace)
    assert (RESTRICT_SECRETS.name in refusal) == has_policies

    api.delete(CLUSTERS, namespace, "one")
    until("the cluster is gone", lambda: cluster.find() is None, GONE_SECONDS)
    if installed_overlay.tenants:
        api.delete(TENANTS, HOME, TENANT)
        until("the tenant is gone", lambda: not api.find(TENANTS, HOME, TENANT), SECONDS)
        left = set(_names(api.list(ROLE, namespace))) & set(tenancy.ROLES)
        assert not left, "rights of a tenant that is gone"

    requests = audit.since(installed_overlay.mark)
    assert installed_overlay.actors <= {entry.impersonated_user or entry.user for entry in requests}
    ours = [entry for entry in requests if entry.user in installed_overlay.actors]
    assert not (no := refusals(ours)), "\n".join(map(str, no))


def assert_is_scraped(api: Api, metrics: Prometheus) -> None:
    """Prometheus scrapes every pod of the operator, and has the reconciles of the cluster."""
    running = api.list(POD, HOME, OPERATORS)
    metrics.follow(running)
    pods = set(_names(running))
    until(
        f"Prometheus scrapes {', '.join(sorted(pods))}",
        lambda: pods <= {pod for pod, _ in metrics.query("up == 1")},
        30.0,
    )
    reconciles = "controller_runtime_reconcile_total{controller='openbaocluster-workload'} > 0"
    until("Prometheus has the reconciles", lambda: metrics.query(reconciles), 30.0)
