"""Rows of test_conditions about data volumes."""

from dataclasses import replace

from contracts.records.effects import GrowClaim
from tests import gen
from tests.managers.cluster.passes import Row
from tests.managers.workload.volume_worlds import LARGER, OLD, claim, grown_claim, world

FINE = world(*(claim(n) for n in range(3)))
GROWN = world(*(grown_claim(n) for n in range(3)))
FAST = OLD.with_spec(storage={"size": "1Gi", "storageClassName": "fast"})
SLOW = OLD.with_spec(storage={"size": "1Gi", "storageClassName": "slow"})


def first(**fields: str) -> gen.World:
    return world(claim(0, **fields), claim(1), claim(2))


def row(cluster: gen.Cluster, there: gen.World, expected: str) -> Row:
    return Row(cluster, there, f"StorageConfigured={expected}")


STORAGE_ROWS = {
    "volumes of the default class": row(OLD, FINE, "True StorageClassDefaulted"),
    "volumes of the class of the spec": row(FAST, FINE, "True StorageClassConfigured"),
    "no volume was made yet": row(
        OLD, first(phase="Pending", capacity=""), "Unknown StorageClassPending"
    ),
    "volumes that have to grow": row(LARGER, FINE, "False StorageResizing"),
    "volumes that may not grow": row(
        LARGER,
        FINE.with_attempt(GrowClaim.name, "uid-claim-0", refused="no"),
        "False StorageResizeNotSupported",
    ),
    "a driver that fails": row(
        LARGER,
        world(grown_claim(0, resizing="ControllerResizeError"), grown_claim(1), grown_claim(2)),
        "False StorageResizeFailed",
    ),
    "volumes larger than the spec": row(OLD, GROWN, "False StorageShrinkNotSupported"),
    "volumes of another class": row(SLOW, FINE, "False StorageClassChangeNotSupported"),
    "a lost volume": row(OLD, first(phase="Lost"), "False VolumeLost"),
    "small volumes of an earlier cluster": row(
        LARGER, first(owner_uid="uid-of-before"), "False ForeignObject"
    ),
    "a size that differs from the volumes is no field without effect": Row(
        LARGER, replace(GROWN, rolling=None), "ProductionReady=False ProfileNotSet"
    ),
}
