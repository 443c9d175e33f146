"""managers.workload.storage.resize: the condition of the data volumes, and their expansion."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from contracts.records.desired import Operation
from contracts.records.effects import AdoptPvc, Effect, GrowClaim
from contracts.records.observed import Observed, PvcFacts
from managers.workload.storage.resize import (
    ASK_AGAIN,
    IN_PLACE,
    Growth,
    growth,
    needs_restart_for_resize,
)
from runtime.outcome import Blocked, Done, Wait
from tests import gen
from tests.managers.workload.volume_worlds import (
    LARGER,
    OLD,
    claim,
    grown_claim,
    pods_created_at,
    waiting,
    world,
)

THREE = (claim(0), claim(1), claim(2))
FAST = OLD.with_spec(storage={"size": "1Gi", "storageClassName": "fast"})


def of(cluster: gen.Cluster, there: gen.World) -> Growth:
    return growth(gen.resolved(cluster), there.facts())


def others(*claims: PvcFacts) -> gen.World:
    """A world with these volumes, and default ones for the other ordinals."""
    taken = {pvc.name for pvc in claims}
    return world(*claims, *(pvc for pvc in THREE if pvc.name not in taken))


class Row(NamedTuple):
    cluster: gen.Cluster
    there: gen.World
    expected: str
    words: tuple[str, ...]


# expected: the kind and the reason
ROWS = {
    "as requested in the default class": Row(
        OLD, world(*THREE), "ready StorageClassDefaulted", ("3 volumes of 1Gi", "fast")
    ),
    "as requested in the requested class": Row(
        FAST, world(*THREE), "ready StorageClassConfigured", ("3 volumes of 1Gi", "fast")
    ),
    "an equal size in another notation": Row(
        OLD.with_spec(storage={"size": "1024Mi"}), world(*THREE), "ready StorageClassDefaulted", ()
    ),
    "no volume yet": Row(OLD, world(), "unknown StorageClassPending", ()),
    "a pending volume": Row(
        FAST,
        others(claim(1, phase="Pending", capacity="")),
        "unknown StorageClassPending",
        ("data-x-1", "StorageClass fast"),
    ),
    "there is no default class": Row(
        OLD,
        others(claim(1, phase="Pending", capacity="", storage_class="")),
        "unknown StorageClassPending",
        ("no default StorageClass", "spec.storage.storageClassName"),
    ),
    "smaller than the spec": Row(
        LARGER, world(*THREE), "progressing StorageResizing", ("0 of 3 volumes have 2Gi",)
    ),
    "an expansion in progress": Row(
        LARGER,
        world(grown_claim(0), grown_claim(1, capacity="1Gi"), grown_claim(2)),
        "progressing StorageResizing",
        ("2 of 3",),
    ),
    "a pending file system expansion": Row(
        LARGER,
        world(grown_claim(0), waiting(1, gen.NOW), grown_claim(2)),
        "progressing StorageResizing",
        ("file systems to be expanded: data-x-1",),
    ),
    "the driver fails": Row(
        LARGER,
        world(
            grown_claim(0),
            grown_claim(1, resizing="NodeResizeError", resize_message="no room"),
            grown_claim(2),
        ),
        "failed StorageResizeFailed",
        ("data-x-1", "NodeResizeError", "no room"),
    ),
    "the API server refused": Row(
        LARGER,
        world(*THREE).with_attempt(GrowClaim.name, "uid-claim-0", refused="class cannot"),
        "failed StorageResizeNotSupported",
        ("data-x-0", "class cannot", "StorageClass fast", "allowVolumeExpansion"),
    ),
    "larger than the spec": Row(
        OLD,
        others(grown_claim(1), claim(2, requested="3Gi", capacity="3Gi")),
        "failed StorageShrinkNotSupported",
        ("spec.storage.size is 1Gi", "data-x-1", "Set spec.storage.size to 3Gi"),
    ),
    "of another class": Row(
        FAST,
        others(claim(1, storage_class="slow")),
        "failed StorageClassChangeNotSupported",
        ("data-x-1", "slow", "fast"),
    ),
    "of an earlier cluster, and too small": Row(
        LARGER,
        others(claim(1, owner_uid="uid-of-before")),
        "failed ForeignObject",
        ("data-x-1", "openbao.org/adopt=x"),
    ),
    "of an earlier cluster, and large enough": Row(
        OLD, others(claim(1, owner_uid="uid-of-before")), "ready StorageClassDefaulted", ()
    ),
    "a lost volume": Row(OLD, others(claim(1, phase="Lost")), "failed VolumeLost", ("data-x-1",)),
    "a PVC that terminates under a running server": Row(
        OLD, others(claim(1, terminating=True)), "failed VolumeLost", ("data-x-1", "x-1 stops")
    ),
    "a missing PVC of a running server": Row(
        OLD, world(claim(0), claim(2)), "failed VolumeLost", ("data-x-1", "labels")
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_condition(row: Row) -> None:
    state = of(row.cluster, row.there).state
    assert f"{state.kind} {state.reason}" == row.expected
    assert all(word in state.message for word in row.words), state.message
    outcome = {"ready": Done, "unknown": Done, "progressing": Wait, "failed": Blocked}[state.kind]
    assert isinstance(state.outcome(), outcome)


def grow(ordinal: int, size: str = "2Gi") -> Effect:
    return GrowClaim(f"data-x-{ordinal}", f"uid-claim-{ordinal}", "1Gi", size)


def effects(cluster: gen.Cluster, there: gen.World) -> list[Effect]:
    return list(of(cluster, there).effects)


GROWN = [grown_claim(n) for n in range(3)]
HANDED = {"owner_uid": "uid-of-before", "adopt": "x"}
# sentence: (world, ordinals of the volumes to expand)
GROWING: dict[str, tuple[gen.World, tuple[int, ...]]] = {
    "all at once": (world(*THREE), (0, 1, 2)),
    "only a volume that is too small": (world(*GROWN[:2], claim(2)), (2,)),
    "a refused expansion is not repeated immediately": (
        world(*THREE).with_attempt(GrowClaim.name, "uid-claim-0", refused="no"),
        (1, 2),
    ),
}
# Fields of a volume that cannot grow, or is not ours.
LEFT_ALONE: tuple[dict[str, Any], ...] = (
    {"phase": "Pending", "capacity": ""},
    {"phase": "Lost"},
    {"terminating": True},
    {"owner_uid": "uid-of-before"},
    {"owner_uid": ""},
    {"requested": "2Gi"},
    {"requested": "3Gi"},
    {**HANDED, "adopt": "y"},
    {**HANDED, "adopt": "X"},
    {**HANDED, "terminating": True},
)


@pytest.mark.parametrize(("there", "ordinals"), GROWING.values(), ids=GROWING)
def test_which_volumes_grow(there: gen.World, ordinals: tuple[int, ...]) -> None:
    assert effects(LARGER, there) == [grow(n) for n in ordinals]


@pytest.mark.parametrize("fields", LEFT_ALONE, ids=str)
def test_foreign_and_fixed_volumes_are_not_changed(fields: dict[str, Any]) -> None:
    assert effects(LARGER, world(claim(0, **fields), *GROWN[1:])) == []


def test_a_refusal_expires_or_ends_with_the_growth() -> None:
    """The StorageClass may have been changed, and no event reports that."""
    there = world(*THREE).with_attempt(GrowClaim.name, "uid-claim-0", ASK_AGAIN, refused="no")
    assert len(effects(LARGER, there)) == 3
    assert of(LARGER, there).state.reason == "StorageResizing"
    grown = world(*GROWN).with_attempt(GrowClaim.name, "uid-claim-0", refused="no")
    assert of(LARGER, grown).state.kind == "ready"


def test_the_progress_of_the_growth() -> None:
    there = world(grown_claim(0), waiting(1, gen.NOW), claim(2))
    assert of(LARGER, there).operation == Operation("Growing", 1, 3)
    content = of(OLD, world(*THREE))
    assert (content.effects, content.operation) == ((), None)


def test_an_adopted_volume_grows_after_its_adoption() -> None:
    there = world(GROWN[0], claim(1, **HANDED), GROWN[2])
    assert effects(LARGER, there) == [AdoptPvc("data-x-1", "uid-claim-1")]
    assert of(LARGER, there).state.reason == "StorageResizing"
    # A volume that is large enough is adopted too.
    large = world(claim(0), claim(1, **HANDED), claim(2))
    assert [effect.name for effect in effects(OLD, large)] == [AdoptPvc.name]
    assert of(OLD, large).state.kind == "ready"


class TestNewPods:
    """A file system that grows only after a new mount."""

    SINCE = gen.NOW - IN_PLACE

    def observe(self, *claims: PvcFacts, made_ago: timedelta = timedelta(hours=1)) -> Observed:
        there = world(*claims)
        return replace(there.facts(), pods=pods_created_at(there, self.SINCE - made_ago))

    def names(self, observed: Observed) -> list[str]:
        return [pod.name for pod in needs_restart_for_resize(observed)]

    def test_the_pod_is_replaced_after_the_time_of_the_kubelet(self) -> None:
        for since, gone in ((self.SINCE, ["x-1"]), (self.SINCE + timedelta(seconds=1), [])):
            claims = (grown_claim(0), waiting(1, since), grown_claim(2))
            assert self.names(self.observe(*claims)) == gone
        same_second = self.observe(waiting(0, self.SINCE), made_ago=timedelta(0))
        assert self.names(same_second) == ["x-0"]

    def test_a_newer_pod_is_not_replaced_again(self) -> None:
        claims = (waiting(0, self.SINCE), grown_claim(1), grown_claim(2))
        observed = self.observe(*claims, made_ago=-timedelta(seconds=1))
        assert self.names(observed) == []
        state = growth(gen.resolved(LARGER), observed).state
        assert "replacing x-0 has not helped" in state.message

    @pytest.mark.parametrize("kind", ["Resizing", "NodeResizeError", "ControllerResizeError"])
    def test_other_resize_states_replace_no_pod(self, kind: str) -> None:
        assert self.names(self.observe(replace(waiting(0, self.SINCE), resizing=kind))) == []

    def test_without_timestamps_no_pod_is_replaced(self) -> None:
        """Without a time the pod would be replaced again and again."""
        observed = self.observe(replace(waiting(0, self.SINCE), resizing_since=None))
        assert self.names(observed) == []
        assert self.names(replace(observed, claims=(waiting(0, self.SINCE),))) == ["x-0"]
        ageless = tuple(replace(pod, creation_timestamp=None) for pod in observed.pods)
        assert self.names(replace(observed, claims=(waiting(0, self.SINCE),), pods=ageless)) == []
