"""The kind ServiceMonitor on a rig: a definition that takes any spec, and no Prometheus."""

import orjson

from contracts.optional_kinds import SERVICE_MONITOR
from e2e.rig import Rig
from e2e.rig.kube import wait_established

_ANY = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}


def install(rig: Rig) -> None:
    """Apply the definition and wait until the API server takes it."""
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
    """Delete the definition and every object of it, if it is there."""
    rig.kubectl(
        "delete", "--ignore-not-found", "--timeout=60s", f"crd/{SERVICE_MONITOR.definition}"
    )
