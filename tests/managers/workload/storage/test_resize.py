"""managers.workload.storage.resize: what is said of the data volumes, and what makes them grow."""

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
    """A world with these, and the usual ones for the other ordinals."""
    taken = {pvc.name for pvc in claims}
    return world(*claims, *(pvc for pvc in THREE if pvc.name not in taken))


class Row(NamedTuple):
    cluster: gen.Cluster
    there: gen.World
    expected: str
    words: tuple[str, ...]


# expected: how it reads, and the reason
ROWS = {
    "as the spec asks, in the default class": Row(
        OLD, world(*THREE), "ready StorageClassDefaulted", ("3 volumes of 1Gi", "fast")
    ),
    "as the spec asks, in its class": Row(
        FAST, world(*THREE), "ready StorageClassConfigured", ("3 volumes of 1Gi", "fast")
    ),
    "another way to write the same size": Row(
        OLD.with_spec(storage={"size": "1024Mi"}), world(*THREE), "ready StorageClassDefaulted", ()
    ),
    "none was asked for yet": Row(OLD, world(), "unknown StorageClassPending", ()),
    "one has no volume yet": Row(
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
    "asked for and not granted": Row(
        LARGER,
        world(grown_claim(0), grown_claim(1, capacity="1Gi"), grown_claim(2)),
        "progressing StorageResizing",
        ("2 of 3",),
    ),
    "the file system has to grow": Row(
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
    "its volume went": Row(OLD, others(claim(1, phase="Lost")), "failed VolumeLost", ("data-x-1",)),
    "somebody deleted it under its server": Row(
        OLD, others(claim(1, terminating=True)), "failed VolumeLost", ("data-x-1", "x-1 stops")
    ),
    "it is not there, and its server runs": Row(
        OLD, world(claim(0), claim(2)), "failed VolumeLost", ("data-x-1", "labels")
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_is_said(row: Row) -> None:
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
# sentence: (world, ordinals of the volumes that are told to grow)
GROWING: dict[str, tuple[gen.World, tuple[int, ...]]] = {
    "all at once": (world(*THREE), (0, 1, 2)),
    "one that was made smaller later alone": (world(*GROWN[:2], claim(2)), (2,)),
    "a refusal is not asked for again at once": (
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
def test_which_volumes_grow_each_by_its_uid(there: gen.World, ordinals: tuple[int, ...]) -> None:
    assert effects(LARGER, there) == [grow(n) for n in ordinals]


@pytest.mark.parametrize("fields", LEFT_ALONE, ids=str)
def test_what_cannot_grow_or_is_not_ours_is_left_alone(fields: dict[str, Any]) -> None:
    assert effects(LARGER, world(claim(0, **fields), *GROWN[1:])) == []


def test_a_refusal_is_forgotten_after_a_while_or_when_it_has_grown() -> None:
    """Somebody may have changed the StorageClass, and nobody tells."""
    there = world(*THREE).with_attempt(GrowClaim.name, "uid-claim-0", ASK_AGAIN, refused="no")
    assert len(effects(LARGER, there)) == 3
    assert of(LARGER, there).state.reason == "StorageResizing"
    grown = world(*GROWN).with_attempt(GrowClaim.name, "uid-claim-0", refused="no")
    assert of(LARGER, grown).state.kind == "ready"


def test_how_far_it_is() -> None:
    there = world(grown_claim(0), waiting(1, gen.NOW), claim(2))
    assert of(LARGER, there).operation == Operation("Growing", 1, 3)
    content = of(OLD, world(*THREE))
    assert (content.effects, content.operation) == ((), None)


def test_a_volume_that_was_handed_over_becomes_ours_first_and_grows_later() -> None:
    there = world(GROWN[0], claim(1, **HANDED), GROWN[2])
    assert effects(LARGER, there) == [AdoptPvc("data-x-1", "uid-claim-1")]
    assert of(LARGER, there).state.reason == "StorageResizing"
    # One that is large enough becomes ours too: it goes with this cluster from now on.
    large = world(claim(0), claim(1, **HANDED), claim(2))
    assert [effect.name for effect in effects(OLD, large)] == [AdoptPvc.name]
    assert of(OLD, large).state.kind == "ready"


class TestNewPods:
    """A file system that grows only where it is mounted anew."""

    SINCE = gen.NOW - IN_PLACE

    def observe(self, *claims: PvcFacts, made_ago: timedelta = timedelta(hours=1)) -> Observed:
        there = world(*claims)
        return replace(there.facts(), pods=pods_created_at(there, self.SINCE - made_ago))

    def names(self, observed: Observed) -> list[str]:
        return [pod.name for pod in needs_restart_for_resize(observed)]

    def test_its_pod_has_to_go_once_the_kubelet_had_its_time(self) -> None:
        for since, gone in ((self.SINCE, ["x-1"]), (self.SINCE + timedelta(seconds=1), [])):
            claims = (grown_claim(0), waiting(1, since), grown_claim(2))
            assert self.names(self.observe(*claims)) == gone
        same_second = self.observe(waiting(0, self.SINCE), made_ago=timedelta(0))
        assert self.names(same_second) == ["x-0"]

    def test_a_newer_pod_is_not_replaced_again_and_that_is_told(self) -> None:
        claims = (waiting(0, self.SINCE), grown_claim(1), grown_claim(2))
        observed = self.observe(*claims, made_ago=-timedelta(seconds=1))
        assert self.names(observed) == []
        state = growth(gen.resolved(LARGER), observed).state
        assert "replacing x-0 has not helped" in state.message

    @pytest.mark.parametrize("kind", ["Resizing", "NodeResizeError", "ControllerResizeError"])
    def test_nothing_else_asks_for_a_new_pod(self, kind: str) -> None:
        assert self.names(self.observe(replace(waiting(0, self.SINCE), resizing=kind))) == []

    def test_without_a_time_nobody_goes(self) -> None:
        """It could not be told whether the pod was replaced already: it would go on for ever."""
        observed = self.observe(replace(waiting(0, self.SINCE), resizing_since=None))
        assert self.names(observed) == []
        assert self.names(replace(observed, claims=(waiting(0, self.SINCE),))) == ["x-0"]
        ageless = tuple(replace(pod, creation_timestamp=None) for pod in observed.pods)
        assert self.names(replace(observed, claims=(waiting(0, self.SINCE),), pods=ageless)) == []
