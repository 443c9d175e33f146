"""Worlds with data volumes."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from contracts.naming import names
from contracts.records.observed import PodFacts, PvcFacts
from tests import gen

OLD = gen.cluster().initialized()
LARGER = OLD.with_spec(storage={"size": "2Gi"})
PENDING = "FileSystemResizePending"
A_MINUTE = timedelta(seconds=60)


def claim(ordinal: int, **fields: Any) -> PvcFacts:
    """A bound volume of 1Gi of the cluster, with changed `fields`."""
    usual = PvcFacts(
        name=names.data_claim("x", ordinal),
        uid=f"uid-claim-{ordinal}",
        owner_uid="uid-x",
        terminating=False,
        requested="1Gi",
        capacity="1Gi",
        storage_class="fast",
        phase="Bound",
    )
    return replace(usual, **fields)


def grown_claim(ordinal: int, **fields: Any) -> PvcFacts:
    """The same with 2Gi."""
    return claim(ordinal, **{"requested": "2Gi", "capacity": "2Gi", **fields})


def world(*claims: PvcFacts, cluster: gen.Cluster = OLD) -> gen.World:
    """Three servers of the newest template, pod 0 leads, with these volumes."""
    return replace(gen.running(cluster), claims=claims)


def waiting(ordinal: int, since: datetime) -> PvcFacts:
    """A volume whose file system expansion is pending."""
    return grown_claim(ordinal, resizing=PENDING, resizing_since=since)


def pods_created_at(world: gen.World, at: datetime) -> tuple[PodFacts, ...]:
    """The pods of a world with this creation time."""
    return tuple(replace(pod, creation_timestamp=at) for pod in world.facts().pods)
