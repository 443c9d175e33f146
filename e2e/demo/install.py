"""Installs the operator, and waits until both pods are ready and one of them is the leader."""

import time
from pathlib import Path

from e2e.demo.api import FIELD_MANAGER, Api
from e2e.demo.errors import DemoError
from e2e.demo.kubectl import Kubectl
from e2e.demo.manifests import (
    OPERATOR_DEPLOYMENT,
    OPERATOR_NAMESPACE,
    OPERATOR_SELECTOR,
    REPLICAS,
    Installation,
    as_list,
    operator_objects,
)
from e2e.demo.objects import Object, is_ready, is_terminating, labels_of, name_of, status_of
from e2e.demo.progress import pod_state
from e2e.demo.screen import Screen
from e2e.rig.kube import wait_established

REPOSITORY = Path(__file__).resolve().parents[2]
OVERLAY = REPOSITORY / "deploy" / "overlays" / "cluster-wide"
CRD = "openbaoclusters.openbao.org"
LEASE = "openbao-operator"
READY_SECONDS = 180.0
_POLL_SECONDS = 0.3
_PODS = f"/api/v1/namespaces/{OPERATOR_NAMESPACE}/pods"
_DEPLOYMENT = f"/apis/apps/v1/namespaces/{OPERATOR_NAMESPACE}/deployments/{OPERATOR_DEPLOYMENT}"
_LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{OPERATOR_NAMESPACE}/leases/{LEASE}"


def install(kubectl: Kubectl, api: Api, installation: Installation, screen: Screen) -> None:
    """Apply the CRDs and the operator, and wait until it is ready. Raises DemoError."""
    rendered = kubectl("kustomize", str(OVERLAY))
    objects = operator_objects(rendered, installation)
    apply(kubectl, objects)
    screen.say(f"applied {len(objects)} objects; operator image {installation.image}")
    wait_established(kubectl, f"crd/{CRD}")
    until = time.monotonic() + READY_SECONDS
    while (missing := _unmet_condition(api)) is not None:
        if time.monotonic() > until:
            raise DemoError(f"the operator was not ready after {READY_SECONDS:.0f} s: {missing}")
        screen.waiting(missing)
        time.sleep(_POLL_SECONDS)
    screen.waiting("")
    screen.say(f"{REPLICAS} operator pods are ready, {leader(api)} holds the Lease")


def apply(kubectl: Kubectl, objects: list[Object]) -> None:
    """Apply objects server-side, with the field manager of the demo. Raises DemoError."""
    options = ["--server-side", "--force-conflicts", f"--field-manager={FIELD_MANAGER}"]
    kubectl("apply", *options, "-f", "-", stdin=as_list(objects))


def operator_pods(api: Api) -> list[Object]:
    """Return the pods of the operator that are not terminating."""
    pods = [pod for pod in api.items(_PODS) if OPERATOR_SELECTOR.items() <= labels_of(pod).items()]
    return [pod for pod in pods if not is_terminating(pod)]


def leader(api: Api) -> str | None:
    """Return the name of the operator pod that holds the Lease; None without holder.

    The holder identity is the name of the pod, an underscore and a random suffix.
    """
    lease = api.find(_LEASE)
    holder = str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")
    pod = holder.rpartition("_")[0]
    return pod if pod in {name_of(live) for live in operator_pods(api)} else None


def _unmet_condition(api: Api) -> str | None:
    """Return what is missing; None if the operator is ready."""
    deployment = api.get(_DEPLOYMENT)
    status = status_of(deployment)
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return "the Deployment of the operator has not been observed yet"
    pods = operator_pods(api)
    ready = [pod for pod in pods if is_ready(pod)]
    updated = status.get("updatedReplicas", 0)
    settled = updated == REPLICAS == status.get("replicas", 0) == len(pods)
    if not settled or len(ready) < REPLICAS:
        old = "" if settled else f", {updated} of the current version"
        rest = [f"{name_of(pod)} {pod_state(pod)}" for pod in pods if not is_ready(pod)]
        return "; ".join([f"{len(ready)} operator pods are ready{old}", *rest])
    return None if leader(api) else "no operator pod holds the Lease yet"
