"""The operator is upgraded to the next release and rolled back under load: no server restarts.

The previous release is this code under another tag, with a definition of clusters that lacks a
field of the status and one of the spec. Between the two steps only the definitions are rolled back.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace, sweep
from e2e.demo.manifests import Installation, as_list, operator_objects
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.installation import install
from e2e.harness.kubernetes import Api
from e2e.harness.operator import IMAGE_REPOSITORY
from e2e.harness.overlays import copy_overlays, remove_objects, render_overlay
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import LEASE, NAMESPACE, POD, SERVICE
from runtime.types import Object, Resource, uid_of

HOME, NAME = "bao-upgrade", "openbao-operator"
OPERATORS = "app.kubernetes.io/name=openbao-operator"
VERSION = "app.kubernetes.io/version"
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
BEFORE, NEXT = "0.1.0", "0.2.0"
NEW_STATUS, NEW_SPEC = "sealed", "maintenance"
MISSING = {f"OpenBaoCluster.status.{NEW_STATUS}", f"OpenBaoCluster.spec.{NEW_SPEC}"}
SECONDS = 90.0
# A definition is published within a second; while fields are missing, it is compared every 15 s.
ARRIVAL_SECONDS = 45.0
STILL_SECONDS = 5.0
GAP_SECONDS = 1.0


def older(objects: list[Object]) -> list[Object]:
    """Return the same objects with the definition of clusters of the previous release."""
    result = copy.deepcopy(objects)
    (definition,) = [obj for obj in result if obj["metadata"]["name"] == str(CLUSTERS)]
    (version,) = definition["spec"]["versions"]
    parts = version["schema"]["openAPIV3Schema"]["properties"]
    del parts["status"]["properties"][NEW_STATUS]
    del parts["spec"]["properties"][NEW_SPEC]
    return result


@dataclass(frozen=True, slots=True)
class Releases:
    """An installation file per release, and the commands of docs/operator-upgrade.md."""

    rig: Rig
    api: Api
    objects: list[Object]
    image: str

    def install(self, version: str, *, definitions: bool = True) -> None:
        """Apply the file of a release, and wait until one of its pods leads."""
        objects = older(self.objects) if version == BEFORE else copy.deepcopy(self.objects)
        for obj in objects:
            if obj["kind"] == "Deployment":
                template = obj["spec"]["template"]
                template["metadata"]["labels"][VERSION] = version
                template["spec"]["containers"][0]["image"] = self._tag(version)
        self._apply(obj for obj in objects if definitions or not _is_definition(obj))
        self.rig.kubectl(
            "-n", HOME, "rollout", "status", f"deployment/{NAME}", "--timeout=90s", timeout=120.0
        )
        until(f"a pod of {version} leads", lambda: self.leader_version() == version, SECONDS)

    def roll_definitions_back(self) -> None:
        """Apply the definitions of the previous release, and nothing else."""
        self._apply(obj for obj in older(self.objects) if _is_definition(obj))

    def upgrade_definitions(self) -> None:
        """Apply the definitions of the next release, and nothing else."""
        self._apply(obj for obj in self.objects if _is_definition(obj))

    def leader_version(self) -> str | None:
        """Return the release of the pod that holds the Lease."""
        lease = self.api.find(LEASE, HOME, NAME) or {}
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        pods = {pod["metadata"]["name"]: pod for pod in self.api.list(POD, HOME, OPERATORS)}
        leader = next((pod for name, pod in pods.items() if holder.startswith(name)), None)
        return str(leader["metadata"]["labels"][VERSION]) if leader else None

    def remove(self) -> None:
        """Delete the objects of the installation file."""
        self.api.delete(DEPLOYMENT, HOME, NAME)
        until("the pods are gone", lambda: not self.api.list(POD, HOME, OPERATORS), SECONDS)
        remove_objects(self.rig, self.objects)

    def _tag(self, version: str) -> str:
        name = f"{self.image.rpartition(':')[0]}:{version}"
        self.rig.tag_image(self.image, name)
        return name

    def _apply(self, objects: Iterator[Object]) -> None:
        apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        self.rig.kubectl(*apply, input=as_list(objects), timeout=120.0)


def _is_definition(obj: Object) -> bool:
    return bool(obj["kind"] == "CustomResourceDefinition")


@pytest.fixture
def releases(rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Releases]:
    """Two releases in mode cluster-wide, in a separate namespace."""
    sweep(api, HOME)
    until(f"{HOME} is gone", lambda: api.find(NAMESPACE, None, HOME) is None, SECONDS)
    folder: Path = copy_overlays(tmp_path_factory.mktemp("checkout"), HOME)
    image = rig.load_operator_image()
    installation = Installation(image, "IfNotPresent", IMAGE_REPOSITORY)
    objects = operator_objects(render_overlay(rig, folder, "cluster-wide"), installation)
    releases = Releases(rig, api, objects, image)
    yield releases
    releases.remove()
    install(rig)
    sweep(api, HOME)


def starts(cluster: Cluster) -> dict[str, int]:
    """Return the number of container restarts of each server, by the UID of its pod."""
    return {
        uid_of(pod): sum(status["restartCount"] for status in pod["status"]["containerStatuses"])
        for pod in cluster.pods()
    }


def apply_annotation(cluster: Cluster, order: str) -> None:
    """Change an annotation of the Service, and wait until the operator has applied it."""
    cluster.api.patch(
        CLUSTERS,
        cluster.namespace,
        cluster.name,
        {"spec": {"service": {"annotations": {"example.com/order": order}}}},
    )

    def is_applied() -> bool:
        name = names.public_service(cluster.name)
        live = cluster.api.get(SERVICE, cluster.namespace, name)
        return (live["metadata"].get("annotations") or {}).get("example.com/order") == order

    until(f"the operator applies the annotation {order!r}", is_applied, SECONDS)
    cluster.await_available()


def status_of(cluster: Cluster) -> Object:
    status: Object = cluster.live().get("status") or {}
    return status


def is_current(cluster: Cluster) -> bool:
    """Whether the newest field is written, and no field is reported as missing."""
    kinds = {condition["type"] for condition in cluster.conditions()}
    return NEW_STATUS in status_of(cluster) and "SchemaOutdated" not in kinds


@pytest.mark.timeout(600)
def test_an_operator_is_upgraded_and_rolled_back_without_a_restart_of_servers(
    releases: Releases, api: Api, make_namespace: MakeNamespace
) -> None:
    watch = Stopwatch()
    releases.install(BEFORE)
    cluster = steady_voters(api, make_namespace(), "one")
    apply_annotation(cluster, "before")
    servers = starts(cluster)
    assert len(servers) == 3
    print(f"\nAvailable with the previous release after {watch.seconds:.1f} s")

    with ServiceWriter(cluster) as writer:
        # This code is newer than the definition: it reports that, and writes the other fields.
        message = cluster.await_condition("SchemaOutdated")["message"]
        assert all(path in message for path in MISSING)
        assert NEW_STATUS not in status_of(cluster)
        assert status_of(cluster)["ready"] == "3/3"

        releases.install(NEXT)
        until("the new field is written", lambda: is_current(cluster), ARRIVAL_SECONDS)
        apply_annotation(cluster, "next")
        print(f"upgraded after {watch.seconds:.1f} s")

        # Only the definitions are rolled back, and upgraded again.
        releases.roll_definitions_back()
        apply_annotation(cluster, "with older definitions")
        cluster.await_condition("SchemaOutdated")
        releases.upgrade_definitions()
        until("the new field is written again", lambda: is_current(cluster), ARRIVAL_SECONDS)
        print(f"definitions rolled back and upgraded after {watch.seconds:.1f} s")

        # The rollback of docs/operator-upgrade.md: only the Deployment.
        releases.install(BEFORE, definitions=False)
        apply_annotation(cluster, "back")
        throughout("no server restarts", lambda: starts(cluster) == servers, STILL_SECONDS)
        print(f"rolled back after {watch.seconds:.1f} s")
    print(f"  {writer.describe()}")
    assert starts(cluster) == servers
    assert writer.acknowledged
    assert writer.lost() == []
    # On a busy machine a leader may lose its followers, with or without an upgrade.
    budget("failed writes", len(writer.failed), 0, "writes")
    budget("longest gap of a client", writer.longest_gap, GAP_SECONDS, "s")
