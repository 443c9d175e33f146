"""The ServiceMonitor CRD on a rig: with a schema for any spec, and without Prometheus."""

import orjson

from contracts.optional_kinds import SERVICE_MONITOR
from e2e.rig import Rig
from e2e.rig.kube import wait_established

_ANY = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}


def install(rig: Rig) -> None:
    """Apply the CRD and wait until the API server serves it."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _ANY}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": SERVICE_MONITOR.definition},
        "spec": {
            "group": SERVICE_MONITOR.definition.partition(".")[2],
            "scope": "Namespaced",
            "names": {
                "plural": SERVICE_MONITOR.definition.partition(".")[0],
                "singular": "servicemonitor",
                "kind": "ServiceMonitor",
            },
            "versions": [version],
        },
    }
    rig.kubectl("apply", "-f", "-", input=orjson.dumps(body).decode())
    wait_established(rig.kubectl, f"crd/{SERVICE_MONITOR.definition}")


def uninstall(rig: Rig) -> None:
    """Delete the CRD, if it exists, with all its objects."""
    rig.kubectl(
        "delete", "--ignore-not-found", "--timeout=60s", f"crd/{SERVICE_MONITOR.definition}"
    )
