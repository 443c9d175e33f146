"""Volumes of StatefulSets of a datacenter: changes that Kubernetes refuses, and deletion.

The StatefulSet is recreated and its pods are not. Volumes are kept unless volumePolicy is Delete.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import SLEEP, part
from e2e.harness.datacenters import ON, DatacenterUnderTest, cleanup_of, install_datacenters
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import PVC, STATEFUL_SET
from runtime.types import Object, is_terminating, uid_of

# In this time the StatefulSet controller would replace pods.
UNTOUCHED_SECONDS = 3.0
KEPT, TAKEN = "kept", "taken"


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The image of the operator."""
    install_datacenters(rig)
    return rig.load_operator_image()


@pytest.fixture(scope="module")
def operator_with_datacenters(launcher: Launcher, controller: Identity, image: str) -> Operator:
    """An operator that manages datacenters."""
    assert image
    return launcher.start(controller, NO_ELECTION, environment=ON)


@pytest.fixture(scope="module")
def datacenter(
    api: Api, make_namespace: MakeNamespace, operator_with_datacenters: Operator, image: str
) -> Iterator[DatacenterUnderTest]:
    """Two StatefulSets with a volume per pod; one has volumePolicy Delete."""
    assert operator_with_datacenters.alive
    datacenter = DatacenterUnderTest(api, f"gva{uuid.uuid4().hex[:6]}", make_namespace())
    datacenter.create(*services(image))
    datacenter.await_running()
    yield datacenter
    cleanup_of(api, datacenter)()


def services(image: str, size: str = "16Mi") -> list[Object]:
    """Two services with different volume policies; `size` is of the volumes that are kept."""
    return [
        stateful_set(image, KEPT, size, replicas=2),
        stateful_set(image, TAKEN, "16Mi", volumePolicy="Delete"),
    ]


def stateful_set(image: str, name: str, size: str, **more: Any) -> Object:
    """A StatefulSet with a volume of that size per pod."""
    volume = {"name": "data", "mountPath": "/data", "kind": "Persistent", "size": size}
    main = part(image, SLEEP, volumes=[volume])
    return {"name": name, "kind": "StatefulSet", "services": [main], "runAsUser": 65532, **more}


def claims(datacenter: DatacenterUnderTest, service: str) -> dict[str, str]:
    """The UIDs of the PVCs of a service by name, without those that terminate."""
    prefix = f"data-{datacenter.child(service)}-"
    return {
        claim["metadata"]["name"]: uid_of(claim)
        for claim in datacenter.api.list(PVC, datacenter.namespace)
        if claim["metadata"]["name"].startswith(prefix) and not is_terminating(claim)
    }


def live_set(datacenter: DatacenterUnderTest, service: str) -> Object:
    """The StatefulSet of a service."""
    return datacenter.api.get(STATEFUL_SET, datacenter.namespace, datacenter.child(service))


def template_size(live: Object) -> str:
    """The size in the claim template of a StatefulSet."""
    claim = live["spec"]["volumeClaimTemplates"][0]["spec"]
    return str(claim["resources"]["requests"]["storage"])


@pytest.mark.timeout(200)
def test_a_change_of_the_volume_size_keeps_pods_and_volumes(
    datacenter: DatacenterUnderTest, image: str
) -> None:
    """The StatefulSet is recreated, and owns the same pods."""
    before, pods = live_set(datacenter, KEPT), datacenter.uids(KEPT)
    volumes = claims(datacenter, KEPT)
    assert len(pods) == len(volumes) == 2
    assert template_size(before) == "16Mi"
    watch = Stopwatch()
    datacenter.change(bootstrapServices=services(image, "32Mi"))
    datacenter.await_running()
    after = live_set(datacenter, KEPT)
    print(f"\n  {watch.seconds:.1f} s: recreated")
    assert uid_of(after) != uid_of(before)
    assert template_size(after) == "32Mi"
    throughout(
        "pods and volumes are the same",
        lambda: (datacenter.uids(KEPT), claims(datacenter, KEPT)) == (pods, volumes),
        UNTOUCHED_SECONDS,
    )
    owners = {
        owner["uid"]
        for pod in datacenter.pods(KEPT)
        for owner in pod["metadata"]["ownerReferences"]
    }
    assert owners == {uid_of(after)}


@pytest.mark.timeout(200)
def test_volumes_are_deleted_only_with_policy_delete(datacenter: DatacenterUnderTest) -> None:
    volumes = claims(datacenter, KEPT)
    assert len(volumes) == 2
    assert len(claims(datacenter, TAKEN)) == 1
    watch = Stopwatch()
    datacenter.change(bootstrapServices=[])
    until("both services are retired", lambda: not datacenter.workloads(), 60.0)
    until("the volume with policy Delete is gone", lambda: not claims(datacenter, TAKEN), 30.0)
    until("no pod is left", lambda: not datacenter.uids(KEPT) | datacenter.uids(TAKEN), 30.0)
    print(f"\n  {watch.seconds:.1f} s: retired")
    throughout(
        "the other volumes are kept", lambda: claims(datacenter, KEPT) == volumes, UNTOUCHED_SECONDS
    )


@pytest.mark.timeout(200)
def test_a_service_created_again_reuses_its_volumes(
    datacenter: DatacenterUnderTest, image: str
) -> None:
    volumes = claims(datacenter, KEPT)
    datacenter.change(bootstrapServices=services(image, "32Mi")[:1])
    datacenter.await_running()
    assert claims(datacenter, KEPT) == volumes
    assert len(datacenter.pods(KEPT)) == 2
