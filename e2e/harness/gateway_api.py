"""The Gateway API on a rig: the real CRDs, and a simulated controller."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from contracts.optional_kinds import GATEWAY, GATEWAY_API, GATEWAY_CLASS
from e2e.harness.kubernetes import Api, Object
from e2e.rig import Rig
from e2e.rig.kube import wait_established
from e2e.rig.modules import module_folder
from runtime.types import Resource

KINDS = ("backendtlspolicies", "gatewayclasses", "gateways", "httproutes", "tlsroutes")
ALL_KINDS = (*KINDS, "grpcroutes", "listenersets", "referencegrants", "tcproutes", "udproutes")
"""All kinds, also those that the operator does not use: a gateway waits for all of them."""
CONTROLLER = "example.com/played-by-hand"
CLASS = "e2e"


def definitions(rig: Rig, kinds: Iterable[str] = KINDS) -> list[Path]:
    """Return the files with the CRDs of the standard channel."""
    module = module_folder(rig.cache, "gateway-api", "sigs.k8s.io/gateway-api", rig.progress)
    folder = module / "config" / "crd" / "standard"
    return [folder / f"{GATEWAY_API}_{kind}.yaml" for kind in kinds]


def install(rig: Rig, kinds: Iterable[str] = KINDS) -> None:
    """Apply the CRDs and wait until the API server serves them."""
    files = [part for file in definitions(rig, kinds) for part in ("-f", str(file))]
    rig.kubectl("apply", "--server-side", *files)
    wait_established(rig.kubectl, *files)


def uninstall(rig: Rig, kinds: Iterable[str] = KINDS, *, wait: bool = True) -> None:
    """Delete the CRDs, if they exist, with all their objects.

    Usually takes 3 s; but for a CRD that was created shortly before, the API server (1.36) needs a
    minute in one of ten cases. Callers that do not depend on it should not wait.
    """
    files = [part for file in definitions(rig, kinds) for part in ("-f", str(file))]
    waiting = ("--timeout=180s",) if wait else ("--wait=false",)
    rig.kubectl("delete", "--ignore-not-found", *waiting, *files, timeout=200.0)


def make_gateway(
    api: Api, namespace: str, name: str, *, class_name: str = CLASS, controller: str = CONTROLLER
) -> None:
    """Create a Gateway with an HTTPS and a passthrough listener for its own namespace."""
    if api.find(GATEWAY_CLASS, None, class_name) is None:
        spec = {"controllerName": controller}
        api.create(GATEWAY_CLASS, {"metadata": {"name": class_name}, "spec": spec})
    certificate = {"certificateRefs": [{"name": "edge"}]}
    listeners = [
        {"name": "https", "port": 443, "protocol": "HTTPS", "tls": certificate},
        {"name": "tls", "port": 8443, "protocol": "TLS", "tls": {"mode": "Passthrough"}},
    ]
    api.create(
        GATEWAY,
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"gatewayClassName": class_name, "listeners": listeners},
        },
    )


def set_conditions(
    rig: Rig, resource: Resource, namespace: str | None, name: str, *conditions: Object
) -> None:
    """Write the conditions of a Gateway or a GatewayClass."""
    _patch_status(rig, resource, namespace, name, {"conditions": list(conditions)})


def answer_route(
    rig: Rig, resource: Resource, namespace: str, name: str, parent: Object, *conditions: Object
) -> None:
    """Write the status of a route, as its Gateway controller does."""
    parent = {
        "parentRef": parent,
        "controllerName": CONTROLLER,
        "conditions": list(conditions),
    }
    _patch_status(rig, resource, namespace, name, {"parents": [parent]})


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> Object:
    """Return a condition as a controller writes it."""
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def _patch_status(
    rig: Rig, resource: Resource, namespace: str | None, name: str, status: dict[str, Any]
) -> None:
    where = ("-n", namespace) if namespace else ()
    patch = orjson.dumps({"status": status}).decode()
    rig.kubectl(
        *where, "patch", f"{resource}", name, "--subresource=status", "--type=merge", "-p", patch
    )
