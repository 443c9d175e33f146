"""contracts.pools.fenced_pods: only fences around servers of the serving pool are effective."""

from typing import Any

import pytest

from contracts.pools.fenced_pods import effective_fences, fenced_servers, with_effective_fences
from tests import gen

BLUE, GREEN = "0123456789abcdef", "fedcba9876543210"
ALL = ["x-2", f"x-{BLUE}-1", f"x-{GREEN}-1"]
OLD = gen.cluster().initialized().with_spec(replicas=7, fencedPods=ALL)

SECOND = {"blueRevision": BLUE, "greenRevision": GREEN}
# sentence: (status.blueGreen, the fenced server, whether the fence is effective)
SETS: dict[str, tuple[dict[str, Any] | None, str, bool]] = {
    "never upgraded blue/green": (None, ALL[0], True),
    "upgraded blue/green once": ({"phase": "Idle", "blueRevision": BLUE}, ALL[1], True),
    "read replicas come back": (
        {"phase": "RestoringReadReplicas", "blueRevision": BLUE}, ALL[1], True,
    ),
    "a green pool is created": ({"phase": "Syncing", **SECOND}, ALL[1], False),
    "no rollback is possible": ({"phase": "Cleanup", **SECOND}, ALL[2], False),
}  # fmt: skip


@pytest.mark.parametrize(("status", "name", "now"), SETS.values(), ids=SETS)
def test_a_fence_for_a_pod_of_the_other_pool_has_no_effect(
    status: dict[str, Any] | None, name: str, now: bool
) -> None:
    cluster = OLD.with_status(blueGreen=status).read() if status else OLD.read()
    assert fenced_servers(cluster) == (name,)
    assert effective_fences(cluster) == ((name,) if now else ())
    assert with_effective_fences(cluster).spec.fenced_pods == effective_fences(cluster)
    assert with_effective_fences(cluster).spec.replicas == cluster.spec.replicas


@pytest.mark.parametrize("fenced", [[], ["x-2"]], ids=["none", "one"])
def test_a_cluster_without_such_fences_is_unchanged(fenced: list[str]) -> None:
    cluster = OLD.with_spec(fencedPods=fenced).read()
    assert with_effective_fences(cluster) is cluster
