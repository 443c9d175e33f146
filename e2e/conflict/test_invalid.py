"""Specs that `kubectl apply` refuses, each with the path of the invalid field."""

from typing import Any

import orjson
import pytest

from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import self_init
from e2e.rig import Rig, RigError

# Description: (name, spec, the field that the error names).
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no servers": ("none", {"replicas": 0}, "spec.replicas"),
    "too many servers": ("many", {"replicas": 17}, "spec.replicas"),
    "a version that is no number": ("version", {"version": "latest"}, "spec.version"),
    "a version without the static seal": ("old", {"version": "2.3.0"}, "spec.version"),
    "a volume of size 0": ("small", {"storage": {"size": "0"}}, "spec.storage.size"),
    "no TLS": ("plain", {"tls": {"enabled": False}}, "spec.tls.enabled"),
    "an unknown deletion policy": ("gone", {"deletionPolicy": "All"}, "spec.deletionPolicy"),
    "a name that is invalid for a Service": ("1st", {}, "metadata.name"),
    "a name that ends like that of a managed object": ("a-public", {}, "metadata.name"),
    "a line break in a path": (
        "inject",
        {"selfInit": self_init({"name": "a", "operation": "update", "path": "sys/x\ny"})},
        "spec.selfInit.requests[0].path",
    ),
    "a field that does not exist": ("typo", {"replica": 3}, "spec.replica"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_names_the_path_of_the_field(rig: Rig, namespace: str, what: str) -> None:
    name, spec, field = REFUSED[what]
    body = orjson.dumps(manifest(namespace, name, **spec)).decode()
    with pytest.raises(RigError) as refusal:
        rig.kubectl("apply", "-f", "-", input=body)
    assert field in str(refusal.value)


def test_the_base_spec_is_accepted(rig: Rig, namespace: str) -> None:
    body = orjson.dumps(manifest(namespace, "fine")).decode()
    rig.kubectl("apply", "--dry-run=server", "-f", "-", input=body)
