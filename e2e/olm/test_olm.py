"""An operator with only the objects that OLM creates from the bundle runs a cluster.

It has a separate namespace, so that the rights of the rig's usual operator hide no missing one.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.admission.operator_writes import RESTRICT_SECRETS
from contracts.api.group import CLUSTERS
from e2e.conftest import sweep
from e2e.demo.manifests import as_list, documents, set_variable
from e2e.harness.audit import AuditLog, refusals
from e2e.harness.clusters import Cluster
from e2e.harness.impersonation import account, foreign_secret_refusal
from e2e.harness.installation import ACCOUNT, install
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import IMAGE_REPOSITORY
from e2e.harness.overlays import copy_overlays, remove_objects
from e2e.harness.waiting import Stopwatch, until
from e2e.olm.bundle import VERSION, checkout_of, objects_of_olm, write_bundle
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from release.bundle.files import extras_file
from release.manifests import Checkout
from runtime.builtin_kinds import POD
from runtime.types import Object, Resource

DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
HOME, NAME = "bao-olm", "openbao-operator"
OPERATORS = "app.kubernetes.io/name=openbao-operator"
SECONDS = 60.0


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """The manifests for our namespace."""
    shutil.copytree(REPOSITORY / "release" / "bundle", tmp_path / "release" / "bundle")
    return checkout_of(copy_overlays(tmp_path, HOME))


@pytest.fixture
def olm_installation(rig: Rig, api: Api, checkout: Checkout, tmp_path: Path) -> Iterator[None]:
    """Install the operator as OLM does, with the image repository of a Subscription's config."""
    repository, _, _ = rig.load_operator_image().rpartition(":")
    rig.tag_image(rig.load_operator_image(), f"{repository}:{VERSION}")
    write_bundle(checkout, repository, tmp_path / "bundle")
    objects = objects_of_olm(tmp_path / "bundle" / "manifests", HOME)
    (deployment,) = [obj for obj in objects if obj["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{repository}:{VERSION}"
    set_variable(container, "RELATED_IMAGE_OPENBAO", IMAGE_REPOSITORY)
    api.make_namespace(HOME)
    apply(rig, objects)
    try:
        until("both pods are ready", lambda: ready(api) == 2, SECONDS)
        yield
    finally:
        api.delete(DEPLOYMENT, HOME, NAME)
        until("the pods are gone", lambda: not api.list(POD, HOME, OPERATORS), SECONDS)
        remove_objects(rig, objects)
        install(rig)
        sweep(api, HOME)


def apply(rig: Rig, objects: list[Object]) -> None:
    """Apply objects with server-side apply."""
    argv = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    rig.kubectl(*argv, input=as_list(objects), timeout=120.0)


def ready(api: Api) -> int:
    """Return the number of ready pods of the operator."""
    return int((api.get(DEPLOYMENT, HOME, NAME).get("status") or {}).get("readyReplicas", 0))


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("olm_installation")
def test_an_operator_of_the_bundle_runs_a_cluster_without_refused_requests(
    rig: Rig, api: Api, audit: AuditLog, checkout: Checkout, namespace: str
) -> None:
    mark, watch = audit.mark(), Stopwatch()
    api.create(CLUSTERS, manifest(namespace, "one", selfInit=self_init(key_value_engine())))
    cluster = Cluster(api, namespace, "one")
    cluster.await_available()
    cluster.await_condition("OperatorLoginReady", reason="OperatorLoginTrusted")
    print(f"\nAvailable and logged in after {watch.seconds:.1f} s")
    operator = account(HOME, ACCOUNT)
    assert not foreign_secret_refusal(rig, operator, namespace)

    extras = documents(extras_file(checkout, VERSION))
    apply(rig, extras)
    try:
        until(
            "the policies are enforced",
            lambda: RESTRICT_SECRETS.name in foreign_secret_refusal(rig, operator, namespace),
            SECONDS,
        )
        api.delete(CLUSTERS, namespace, "one")
        until("the cluster is gone", lambda: cluster.find() is None, SECONDS)
    finally:
        remove_objects(rig, extras)

    # The dry runs of this test use the same account, but are not requests of the operator.
    ours = [
        entry
        for entry in audit.since(mark)
        if entry.user == operator.name and entry.agent != "impersonation"
    ]
    assert ours
    assert not (no := refusals(ours)), "\n".join(map(str, no))
