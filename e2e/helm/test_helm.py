"""`helm install`, `helm upgrade` and `helm uninstall` while a cluster keeps running.

The definitions and RBAC objects exist before, from `kubectl apply`: helm takes their ownership.
"""

from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from e2e.conftest import sweep
from e2e.harness.clusters import Cluster
from e2e.harness.installation import install
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import IMAGE_REPOSITORY
from e2e.harness.waiting import Stopwatch, until
from e2e.helm.chart import Helm
from e2e.rig import Rig
from runtime.builtin_kinds import POD
from runtime.types import Resource

DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
HOME, RELEASE, NAME = "bao-helm", "bao", "openbao-operator"
SERVERS = "app.kubernetes.io/name=openbao"
OPERATORS = "app.kubernetes.io/name=openbao-operator"


@pytest.fixture
def helm(
    rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["ReleaseUnderTest"]:
    """Helm for this rig; afterwards its release is gone and the rig has its RBAC objects again."""
    built = ReleaseUnderTest(Helm.build(tmp_path_factory.mktemp("chart")), rig)
    yield built
    built("uninstall", RELEASE, "--ignore-not-found", "--wait")
    until("the pods are gone", lambda: not api.list(POD, HOME, OPERATORS), 60.0)
    install(rig)
    sweep(api, HOME)


class ReleaseUnderTest:
    """Helm as an administrator of the rig."""

    def __init__(self, helm: Helm, rig: Rig) -> None:
        self._helm, self._environment = helm, rig.environment()
        repository, _, tag = rig.load_operator_image().rpartition(":")
        values = {
            "image.repository": repository,
            "image.tag": tag,
            "image.pullPolicy": "IfNotPresent",
            "openbaoImageRepository": IMAGE_REPOSITORY,
            "replicas": "1",
        }
        self._values = [
            part for name, value in values.items() for part in ("--set", f"{name}={value}")
        ]

    def __call__(self, *args: str) -> str:
        """Run helm in the namespace of the release."""
        return self._helm.run(*args, "--namespace", HOME, environment=self._environment)

    def apply(self, verb: str, *options: str) -> str:
        """Install or upgrade, and wait until the pods are ready."""
        chart = str(self._helm.chart)
        wait = ("--wait", "--timeout", "120s")
        return self(verb, RELEASE, chart, *wait, *self._values, *options)


def pods(api: Api, namespace: str) -> set[str]:
    """The UIDs of the servers of a namespace."""
    return {pod["metadata"]["uid"] for pod in api.list(POD, namespace, SERVERS)}


@pytest.mark.timeout(400)
def test_a_cluster_keeps_running_without_its_operator(
    rig: Rig, api: Api, helm: ReleaseUnderTest, namespace: str
) -> None:
    watch = Stopwatch()
    output = helm.apply("install", "--create-namespace", "--take-ownership")
    assert f"runs in namespace {HOME}, mode cluster-wide" in output
    print(f"\ninstalled after {watch.seconds:.1f} s")

    api.create(CLUSTERS, manifest(namespace, "one", selfInit=self_init(key_value_engine())))
    cluster = Cluster(api, namespace, "one")
    cluster.await_available()
    servers = pods(api, namespace)
    assert servers

    helm.apply(
        "upgrade", "--take-ownership", "--set", "mode=datacenters", "--set", "logLevel=debug"
    )
    (container,) = api.get(DEPLOYMENT, HOME, NAME)["spec"]["template"]["spec"]["containers"]
    variables = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert (variables["DATACENTERS"], variables["LOG_LEVEL"]) == ("true", "debug")
    assert pods(api, namespace) == servers
    print(f"upgraded after {watch.seconds:.1f} s")

    helm("uninstall", RELEASE, "--wait")
    assert api.find(DEPLOYMENT, HOME, NAME) is None
    assert "customresourcedefinition.apiextensions.k8s.io/openbaoclusters.openbao.org" in (
        rig.kubectl("get", "crd", "--output", "name")
    )
    assert cluster.find() is not None
    assert pods(api, namespace) == servers
    print(f"uninstalled after {watch.seconds:.1f} s")

    # Without --take-ownership: the definitions still belong to the release of this name.
    helm.apply("install")
    api.patch(CLUSTERS, namespace, "one", {"spec": {"paused": True}})
    cluster.await_condition("Paused")
    api.patch(CLUSTERS, namespace, "one", {"spec": {"paused": False}})
    cluster.await_available()
    assert pods(api, namespace) == servers
    api.delete(CLUSTERS, namespace, "one")
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    print(f"installed again and deleted after {watch.seconds:.1f} s")
