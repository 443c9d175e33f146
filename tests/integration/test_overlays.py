"""deploy/overlays: each is applied, and the permissions are checked with the API server.

They use their own control plane, so that these admission policies do not affect other tests.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import orjson
import pytest

from contracts.admission.policy import PARAMETERS, PART_OF
from contracts.api.group import GROUP
from contracts.naming.installation import CONTROLLER, NAMESPACE
from e2e.demo.manifests import as_list, documents
from e2e.harness.overlays import EVERYWHERE, LISTED, POLICY, Build, copy_overlays
from e2e.rig import Rig, RigError
from e2e.rig.kube import Kube
from e2e.rig.paths import REPOSITORY
from release.manifests import MODES
from runtime.types import Object, labels_of

NAMED = ("controller", "provisioner", "delegate")
ELSEWHERE = "elsewhere"
MOVED = "bao-ops"
DEFINITION = "CustomResourceDefinition"
KINDS = (
    "bootstrapservicesets", "bootstrapworkloads", "datacenters", "openbaobackups",
    "openbaoclusters", "openbaorestores", "openbaotenants",
)  # fmt: skip
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@pytest.fixture(scope="module")
def plane() -> Iterator[Rig]:
    """etcd and kube-apiserver for these tests."""
    rig = Rig(f"itest-overlays-{os.getpid()}")
    rig.up(control_plane=True)
    rig.kubectl("apply", "--server-side", "-k", str(REPOSITORY / "config" / "crd"))
    for name in (*LISTED, ELSEWHERE):
        rig.kubectl("create", "namespace", name)
    try:
        yield rig
    finally:
        rig.down()


@dataclass(frozen=True)
class AppliedOverlay:
    """An applied overlay."""

    overlay: str
    namespace: str
    build: Build
    rig: Rig
    admin: Kube

    def may(self, verb: str, resource: str, namespace: str = "", **more: str) -> bool:
        """Whether the controller may do this (SubjectAccessReview); "" means all namespaces."""
        group, _, plural = resource.rpartition("/") if "/" in resource else ("", "", resource)
        variables = {
            "verb": verb,
            "group": group,
            "resource": plural,
            "namespace": namespace,
            **more,
        }
        user = f"system:serviceaccount:{self.namespace}:{CONTROLLER}"
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{self.namespace}"]
        spec = {"user": user, "groups": groups, "resourceAttributes": variables}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        answer = self.admin.create(REVIEWS, {**body, "spec": spec})
        return bool(answer["status"]["allowed"])


@pytest.fixture(scope="module", params=MODES)
def installed_overlay(
    plane: Rig, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AppliedOverlay]:
    """Apply an overlay in another namespace than the default, and delete it afterwards.

    The CRDs exist already: they are large, and the same for all overlays.
    """
    overlay = str(request.param)
    build = Build.of(plane, copy_overlays(tmp_path_factory.mktemp(overlay), MOVED), overlay)
    assert NAMESPACE not in build.text, "the shipped namespace was not replaced everywhere"
    objects = [obj for obj in build.objects if obj["kind"] != DEFINITION]
    document = as_list(objects)
    kubectl = plane.kubectl("apply", "--server-side", "-f", "-", input=document)
    assert kubectl.count("serverside-applied") == len(objects), kubectl
    yield AppliedOverlay(
        overlay, MOVED, build, plane, Kube.from_kubeconfig(plane.kubeconfig, "itest")
    )
    gone = as_list(obj for obj in objects if obj["kind"] != "Namespace")
    plane.kubectl("delete", "--wait=false", "-f", "-", input=gone)


@pytest.mark.parametrize("overlay", MODES)
def test_the_shipped_overlay_can_be_built(plane: Rig, overlay: str) -> None:
    build = Build.of(plane, REPOSITORY, overlay)
    (home,) = build.of_kind("Namespace")
    assert home["metadata"]["name"] == NAMESPACE
    named = {definition["metadata"]["name"] for definition in build.of_kind(DEFINITION)}
    assert named == {f"{kind}.openbao.org" for kind in KINDS}


@pytest.mark.parametrize("overlay", MODES)
def test_the_service_monitor_selects_every_metrics_service(plane: Rig, overlay: str) -> None:
    build = Build.of(plane, REPOSITORY, overlay)
    folder = str(REPOSITORY / "deploy" / "monitoring")
    (monitor,) = documents(plane.kubectl("kustomize", folder))
    (endpoint,) = monitor["spec"]["endpoints"]
    labels = monitor["spec"]["selector"]["matchLabels"]
    services = build.of_kind("Service")
    assert services
    for service in services:
        assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]
        assert labels.items() <= labels_of(service).items()
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_it_contains_what_its_mode_needs(installed_overlay: AppliedOverlay) -> None:
    build, overlay = installed_overlay.build, installed_overlay.overlay
    assert bool(build.of_kind(POLICY)) == (overlay != "without-admission")
    names = {deployment["metadata"]["name"] for deployment in build.of_kind("Deployment")}
    tenants = {"openbao-operator-provisioner"} if overlay == "multi-tenant" else set()
    assert names == {"openbao-operator", *tenants}
    env = {
        item["name"]: item.get("value", item.get("valueFrom"))
        for item in build.get("Deployment", "openbao-operator")["spec"]["template"]["spec"][
            "containers"
        ][0]["env"]
    }
    own = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    watched = {"namespace-list": ",".join(LISTED), "single-namespace": own}.get(overlay)
    assert env.get("WATCH_NAMESPACE") == watched
    assert env.get("TENANCY_MODE") == ("multi-tenant" if overlay == "multi-tenant" else None)
    assert env.get("DATACENTERS") == ("true" if overlay == "datacenters" else None)


def test_all_objects_have_the_part_of_label(installed_overlay: AppliedOverlay) -> None:
    for obj in installed_overlay.build.objects:
        part_of = labels_of(obj).get(PART_OF)
        assert part_of == "openbao-operator", (obj["kind"], obj["metadata"]["name"])


def test_secrets_are_readable_only_where_clusters_are_and_never_listed(
    installed_overlay: AppliedOverlay,
) -> None:
    everywhere = installed_overlay.overlay in EVERYWHERE
    listed = installed_overlay.overlay == "namespace-list"
    own = everywhere or installed_overlay.overlay == "single-namespace"
    for verb in ("get", "create", "patch"):
        assert installed_overlay.may(verb, "secrets", ELSEWHERE) == everywhere
        assert installed_overlay.may(verb, "secrets", LISTED[0]) == (everywhere or listed)
        assert installed_overlay.may(verb, "secrets", LISTED[1]) == (everywhere or listed)
        assert installed_overlay.may(verb, "secrets", installed_overlay.namespace) == own
    for verb in ("list", "watch", "delete", "update"):
        assert not installed_overlay.may(verb, "secrets", LISTED[0])
        assert not installed_overlay.may(verb, "secrets", installed_overlay.namespace)


def test_only_our_own_kinds_may_be_watched_outside_of_cluster_wide_mode(
    installed_overlay: AppliedOverlay,
) -> None:
    seen = installed_overlay.overlay not in ("namespace-list", "single-namespace")
    for kind in ("openbaobackups", "openbaoclusters", "openbaorestores"):
        assert installed_overlay.may("watch", f"openbao.org/{kind}") == seen
    everywhere = installed_overlay.overlay in EVERYWHERE
    for resource in ("pods", "configmaps", "apps/statefulsets"):
        assert installed_overlay.may("watch", resource) == everywhere
    tenants = installed_overlay.overlay == "multi-tenant"
    assert installed_overlay.may("watch", "openbao.org/openbaotenants") == tenants
    assert not installed_overlay.may("patch", "openbao.org/openbaotenants", ELSEWHERE)
    assert installed_overlay.may("create", "apps/statefulsets", LISTED[0]) == (
        everywhere or installed_overlay.overlay == "namespace-list"
    )


def test_workloads_of_services_need_the_overlay_datacenters(
    installed_overlay: AppliedOverlay,
) -> None:
    served = installed_overlay.overlay == "datacenters"
    for resource in ("apps/daemonsets", "apps/deployments", "openbao.org/bootstrapworkloads"):
        for verb in ("watch", "create", "delete"):
            assert installed_overlay.may(verb, resource) == served, (verb, resource)
    assert installed_overlay.may("watch", "openbao.org/datacenters") == served
    for verb in ("create", "delete", "update"):
        assert not installed_overlay.may(verb, "openbao.org/datacenters")
        assert not installed_overlay.may(verb, "openbao.org/bootstrapservicesets")


def test_every_pod_is_admitted_in_a_restricted_namespace(installed_overlay: AppliedOverlay) -> None:
    deployments = installed_overlay.build.of_kind("Deployment")
    for deployment in deployments:
        template = deployment["spec"]["template"]
        metadata = {**template["metadata"], "name": deployment["metadata"]["name"]}
        metadata["namespace"] = installed_overlay.namespace
        pod: Object = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata}
        text = orjson.dumps(pod).decode()
        installed_overlay.rig.kubectl("create", "--dry-run=server", "-f", "-", input=text)
        pod["spec"]["securityContext"]["runAsNonRoot"] = False
        text = orjson.dumps(pod).decode()
        with pytest.raises(RigError, match="restricted"):
            installed_overlay.rig.kubectl("create", "--dry-run=server", "-f", "-", input=text)


def test_the_parameters_of_the_policies_name_the_accounts(
    installed_overlay: AppliedOverlay,
) -> None:
    if installed_overlay.overlay == "without-admission":
        assert not installed_overlay.build.of_kind(POLICY)
        return
    parameters = installed_overlay.build.get("ServiceAccount", PARAMETERS)
    assert parameters["metadata"]["namespace"] == installed_overlay.namespace
    annotations = {key: parameters["metadata"]["annotations"][f"{GROUP}/{key}"] for key in NAMED}
    assert annotations["controller"] == CONTROLLER
    accounts = {
        account["metadata"]["name"] for account in installed_overlay.build.of_kind("ServiceAccount")
    }
    named = (
        set(annotations.values()) if installed_overlay.overlay == "multi-tenant" else {CONTROLLER}
    )
    assert accounts == {*named, PARAMETERS}
    for binding in installed_overlay.build.of_kind(f"{POLICY}Binding"):
        where = binding["spec"]["paramRef"]
        assert (where["namespace"], where["name"]) == (
            installed_overlay.namespace,
            parameters["metadata"]["name"],
        )
    # The stored policies have no namespace, even if kustomize writes one.
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
    first = installed_overlay.build.of_kind(POLICY)[0]["metadata"]["name"]
    assert "namespace" not in installed_overlay.admin.get(path + first)["metadata"]
