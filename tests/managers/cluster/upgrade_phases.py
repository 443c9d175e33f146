"""Clusters in each phase of a blue/green upgrade from 2.4.0 to 2.4.1."""

from typing import Any

from contracts.records.bluegreen import revision_of
from contracts.records.upgrade import Release
from tests import gen

GREEN = revision_of(Release("2.4.1"), 3)
STRATEGY = {"strategy": "BlueGreen", "jwtAuthRole": "upgrader"}
PLAIN = gen.cluster(version="2.4.1", upgrade=STRATEGY).initialized()


def at(phase: str, cluster: gen.Cluster = PLAIN, **status: Any) -> gen.Cluster:
    """A cluster in a phase of its upgrade."""
    release = {"version": "2.4.1" if phase == "Cleanup" else "2.4.0"}
    known = gen.blue_green_status(phase, "2.4.1", **status)
    return cluster.with_status(release=release, blueGreen=known)
