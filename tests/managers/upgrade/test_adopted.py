"""A status of the previous release of the operator: no upgrade starts, and no pod restarts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.records.upgrade import Release
from managers.upgrade.effective_spec import accepted_release, with_accepted_release
from runtime.builtin_kinds import POD
from tests import gen
from tests.managers.cluster.bench import STATUS, Bench, running_bench

OURS = ("release", "upgrade", "upgradeRequests", "resumedAt")
"""Fields of the status that the release before did not know."""
THREE = gen.cluster(replicas=3)


def as_before(bench: Bench) -> None:
    """Replace the status by that of the previous release."""
    live = copy.deepcopy(bench.cluster)
    live["status"] = {part: status for part, status in live["status"].items() if part not in OURS}
    bench.api._applied.clear()
    bench.api.with_objects((CLUSTERS, live))


def pods(bench: Bench) -> set[str]:
    return {pod["metadata"]["uid"] for pod in bench.api.of(POD)}


async def test_only_the_status_is_written() -> None:
    bench = await running_bench(THREE)
    as_before(bench)
    assert "release" not in bench.cluster["status"]
    before = pods(bench)
    await bench.turn()
    assert bench.writes == [STATUS]
    await bench.turn()
    assert bench.writes == []
    assert bench.cluster["status"]["release"] == {"version": "2.4.0"}
    assert "upgrade" not in bench.cluster["status"]
    assert pods(bench) == before


# sentence: (cluster of the previous release, the release of its servers)
LEFT: dict[str, tuple[gen.Cluster, Release]] = {
    "never initialized": (gen.cluster(version="2.4.0"), Release("2.4.0")),
    "it runs the requested version": (gen.cluster().initialized("2.4.0"), Release("2.4.0")),
    "with its own image": (
        gen.cluster(image="example.com/bao:2.4.0").initialized("2.4.0"),
        Release("2.4.0", "example.com/bao:2.4.0"),
    ),
    "without an observed version": (gen.cluster().initialized(""), Release("2.4.0")),
    "a version change without a leader": (
        gen.cluster(version="2.5.0").initialized("2.4.0"),
        Release("2.4.0"),
    ),
    "a status of this release": (
        gen.cluster(version="2.5.0").initialized("2.5.0").with_status(release={"version": "2.4.0"}),
        Release("2.4.0"),
    ),
}


@pytest.mark.parametrize(("cluster", "release"), LEFT.values(), ids=LEFT.keys())
def test_the_release_of_the_servers(cluster: gen.Cluster, release: Release) -> None:
    assert accepted_release(cluster.read()) == release


WISHES: dict[str, dict[str, Any]] = {
    "the default image": {},
    "an own image": {"image": "example.com/bao:2.4.0"},
    "a version written with a v": {"version": "v2.4.0"},
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES.keys())
def test_an_upgraded_cluster_is_rendered_unchanged(wish: dict[str, Any]) -> None:
    """The same object, so the rendering cannot differ from that of the previous release."""
    cluster = gen.cluster(**wish).initialized("2.4.0").read()
    assert with_accepted_release(cluster) is cluster
