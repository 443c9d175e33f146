"""The type checking of policies and the role controllers of Kubernetes report no warnings."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.admission.policies import POLICIES
from contracts.api.group import CLUSTERS, TENANTS
from e2e.rig import Rig, builds
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import NODE
from runtime.clock import SystemClock

CONTROLLERS = "validatingadmissionpolicy-status-controller,clusterrole-aggregation-controller"


@pytest.fixture(scope="module")
def controllers(
    control_plane_with_crds: Rig, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A kube-controller-manager with only two of its controllers."""
    servers = [item for item in NODE if item.name == "kube-controller-manager"]
    (binary,) = builds.build(Cache(cache_root()), servers, to_stderr())
    log: Path = tmp_path_factory.mktemp("controllers") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                str(binary),
                f"--kubeconfig={control_plane_with_crds.kubeconfig}",
                f"--controllers={CONTROLLERS}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
            stdout=output,
            stderr=output,
        )
    yield control_plane_with_crds
    process.terminate()
    process.wait(timeout=30)


async def _until(rig: Rig, *arguments: str, done: Any) -> dict[str, Any]:
    clock = SystemClock()
    for _ in range(150):
        document: dict[str, Any] = json.loads(rig.kubectl("get", *arguments, "-o", "json"))
        if done(document):
            return document
        await clock.sleep(0.2)
    raise AssertionError(f"not yet: {arguments}")


def _is_checked(policy: dict[str, Any]) -> bool:
    observed_generation = policy.get("status", {}).get("observedGeneration")
    return bool(observed_generation == policy["metadata"]["generation"])


@pytest.mark.parametrize("name", [policy.full_name() for policy in POLICIES])
async def test_every_expression_fits_the_types(controllers: Rig, name: str) -> None:
    policy = await _until(controllers, f"validatingadmissionpolicy/{name}", done=_is_checked)
    assert policy["status"].get("typeChecking", {}) == {}


@pytest.mark.parametrize(
    ("role", "verb", "resource", "holds"),
    [
        ("view", "get", CLUSTERS.plural, True),
        ("view", "patch", CLUSTERS.plural, False),
        ("edit", "patch", CLUSTERS.plural, True),
        ("edit", "patch", f"{CLUSTERS.plural}/status", False),
        ("edit", "publishnetworking", CLUSTERS.plural, False),
        ("edit", "create", TENANTS.plural, False),
        ("admin", "create", TENANTS.plural, True),
        ("admin", "publishnetworking", CLUSTERS.plural, False),
    ],
)
async def test_the_default_roles_include_clusters(
    controllers: Rig, role: str, verb: str, resource: str, holds: bool
) -> None:
    def knows(role: dict[str, Any]) -> bool:
        return any(CLUSTERS.group in rule["apiGroups"] for rule in role.get("rules") or ())

    cluster_role = await _until(controllers, f"clusterrole/{role}", done=knows)
    held = {
        (item, what)
        for rule in cluster_role["rules"]
        if CLUSTERS.group in rule["apiGroups"]
        for item in rule["verbs"]
        for what in rule["resources"]
    }
    assert ((verb, resource) in held) == holds
