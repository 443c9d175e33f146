"""e2e.harness.upgrade_history: the history of an upgrade, from watch events."""

from typing import Any

import pytest

from contracts.naming import labels
from e2e.demo.journal import Change, JournalEntry, Moment
from e2e.demo.objects import Object
from e2e.harness.upgrade_history import (
    CLUSTERS,
    HEADERS,
    JOBS,
    PODS,
    Figures,
    History,
    StepDown,
    is_complete,
    is_server,
)

CLUSTER = "bao"
OLD, NEW = "localhost/openbao:2.4.0", "localhost/openbao:2.4.1"
READY = {"type": "Ready", "status": "True"}


def server(ordinal: int, uid: str, image: str = OLD, *, leads: bool = False, **more: Any) -> Object:
    marks = {**labels.server_pod(CLUSTER), labels.SERVER_ACTIVE: str(leads).lower()}
    meta: Object = {"name": f"{CLUSTER}-{ordinal}", "uid": uid, "labels": marks}
    if more.get("ending"):
        meta["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    containers = [{"restartCount": more.get("restarts", 0)}]
    ready = more.get("ready", True)
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "openbao", "image": image}]},
        "status": {"conditions": [READY] if ready else [], "containerStatuses": containers},
    }


def job(*, complete: bool = False, failed: bool = False, part: str = "upgrade") -> Object:
    ended = [("Complete", complete), ("Failed", failed)]
    conditions = [{"type": kind, "status": "True"} for kind, so in ended if so]
    meta = {"name": "upgrade-bao", "uid": "job", "labels": labels.component(CLUSTER, part)}
    return {"metadata": meta, "status": {"conditions": conditions}}


def at(seconds: float, arrival: float | None = None) -> Moment:
    """The time of a write, and the time of its observation, if later."""
    return Moment(round(10 * seconds), seconds if arrival is None else arrival)


def entry(
    when: float | Moment, obj: Object, kind: str = PODS, change: Change = "MODIFIED"
) -> JournalEntry:
    moment = when if isinstance(when, Moment) else at(when)
    stored = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(moment.revision)}}
    return JournalEntry(moment.at, kind, change, stored)


BEFORE = [server(0, "a0", leads=True), server(1, "a1")]
ROLL = [
    entry(1.0, server(1, "a1", ending=True)),
    # A repeated event is not a second deletion.
    entry(1.5, server(1, "a1", ending=True, ready=False)),
    entry(2.0, server(1, "a1", ending=True), change="DELETED"),
    entry(2.1, server(1, "b1", NEW, ready=False), change="ADDED"),
    entry(4.0, server(1, "b1", NEW)),
    entry(5.0, job(), JOBS, "ADDED"),
    entry(6.0, server(1, "b1", NEW, leads=True)),
    # The old leader keeps its label for a moment.
    entry(6.1, server(0, "a0", leads=True)),
    entry(6.2, server(0, "a0")),
    entry(6.5, job(complete=True), JOBS),
    entry(7.0, server(0, "a0", ending=True)),
    entry(8.0, server(0, "a0", ending=True), change="DELETED"),
    entry(8.1, server(0, "b0", NEW, ready=False), change="ADDED"),
    entry(9.0, server(0, "b0", NEW, restarts=1)),
]


def test_each_pod_has_one_life_with_its_times() -> None:
    lives = {life.uid: life for life in History(CLUSTER, BEFORE, ROLL).lives()}
    assert set(lives) == {"a0", "a1", "b0", "b1"}
    old, new = lives["a1"], lives["b1"]
    assert (old.created_at, old.terminating_at, old.deleted_at, old.image) == (
        None,
        at(1.0),
        at(2.0),
        OLD,
    )
    assert (new.created_at, new.ready_at, new.terminating_at, new.image) == (
        at(2.1),
        at(4.0),
        None,
        NEW,
    )
    assert (lives["b1"].restarts, lives["b0"].restarts) == (0, 1)


def test_the_order_of_pods_leaders_and_jobs() -> None:
    history = History(CLUSTER, BEFORE, ROLL)
    assert history.replaced() == ["bao-1", "bao-0"]
    assert history.leaders() == ["bao-0", "bao-1"]
    assert history.step_downs() == [StepDown("upgrade-bao", at(5.0), at(6.5), True)]
    assert history.first_touch() == at(1.0)


def test_a_reelected_leader_counts_once_and_its_next_pod_separately() -> None:
    lost = [entry(1.0, server(0, "a0")), entry(2.0, server(0, "a0", leads=True))]
    assert History(CLUSTER, BEFORE, lost).leaders() == ["bao-0"]
    elsewhere = [lost[0], entry(1.5, server(1, "a1", leads=True)), lost[1]]
    assert History(CLUSTER, BEFORE, elsewhere).leaders() == ["bao-0", "bao-1", "bao-0"]
    replaced = [lost[0], entry(3.0, server(0, "b0", NEW, leads=True))]
    assert History(CLUSTER, BEFORE, replaced).leaders() == ["bao-0", "bao-0"]


def test_a_pod_deleted_without_notice_is_touched_and_no_longer_leads() -> None:
    gone = [entry(3.0, server(0, "a0", leads=True), change="DELETED")]
    history = History(CLUSTER, BEFORE, gone)
    assert history.first_touch() == at(3.0)
    assert history.leaders() == ["bao-0"]


@pytest.mark.parametrize(
    ("last", "ended", "succeeded"),
    [(job(), None, False), (job(failed=True), at(2.0), False), (job(complete=True), at(2.0), True)],
)
def test_the_result_of_a_job_is_reported(
    last: Object, ended: Moment | None, succeeded: bool
) -> None:
    entries = [entry(1.0, job(), JOBS), entry(2.0, last, JOBS)]
    (step_down,) = History(CLUSTER, [], entries).step_downs()
    assert (step_down.created_at, step_down.ended_at, step_down.succeeded) == (
        at(1.0),
        ended,
        succeeded,
    )


def test_other_jobs_and_pods_are_ignored() -> None:
    pod = {"metadata": {"name": "x", "uid": "x", "labels": labels.component(CLUSTER, "upgrade")}}
    backup = job(part="backup")
    history = History(CLUSTER, [], [entry(1.0, pod), entry(1.0, backup, JOBS)])
    assert (history.lives(), history.step_downs()) == ([], [])
    assert not is_server(pod, CLUSTER)
    assert is_server(server(0, "a"), CLUSTER)
    assert not is_server(server(0, "a"), "other")


def upgraded_cluster(**status: Any) -> Object:
    upgrading = {"type": "Upgrading", "status": "False", "reason": "Idle"}
    return {
        "metadata": {"name": CLUSTER, "generation": 1},
        "status": {
            "currentVersion": "2.4.1",
            "release": {"version": "2.4.1"},
            "conditions": [READY, upgrading],
            **status,
        },
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"upgrade": {"phase": "Rolling"}},
        {"operationLock": {"holder": "somebody"}},
        {"currentVersion": "2.4.0"},
        {"release": {"version": "2.4.0"}},
        {"release": None},
        {"conditions": [READY, {"type": "Upgrading", "status": "True", "reason": "Idle"}]},
        {"conditions": [READY, {"type": "Upgrading", "status": "False", "reason": "PodNotReady"}]},
        {"conditions": []},
    ],
)
def test_an_upgrade_with_remaining_work_is_not_complete(fields: Object) -> None:
    assert is_complete(upgraded_cluster(), "2.4.1")
    assert not is_complete(upgraded_cluster(**fields), "2.4.1")


def test_the_first_time_of_a_state() -> None:
    entries = [entry(when, upgraded_cluster(currentVersion=version), CLUSTERS) for when, version in
            ((1.0, "2.4.0"), (2.0, "2.4.1"), (3.0, "2.4.1"))]  # fmt: skip
    history = History(CLUSTER, [], entries)
    assert history.first(CLUSTERS, lambda cluster: is_complete(cluster, "2.4.1")) == at(2.0)
    assert history.first(CLUSTERS, lambda cluster: is_complete(cluster, "2.4.2")) is None
    assert history.first(PODS, lambda _: True) is None


def test_changes_of_two_kinds_are_ordered_by_write_time() -> None:
    touched = entry(at(3.0, arrival=3.000), server(0, "a0", ending=True))
    accepted = entry(at(2.0, arrival=3.001), upgraded_cluster(), CLUSTERS)
    history = History(CLUSTER, BEFORE, [touched, accepted])
    began, first_touch = history.first(CLUSTERS, lambda _: True), history.first_touch()
    assert began is not None
    assert first_touch is not None
    assert began < first_touch
    assert first_touch - began == pytest.approx(-0.001)


def test_a_row_has_a_cell_for_each_heading() -> None:
    row = Figures(
        "leader 0", 21.26, 300, 2, 0.456, 90, ("bao-2", "bao-0"), ("bao-0", "bao-2")
    ).row()
    assert row == ("leader 0", "21.3 s", "0.46 s", "2 of 300", "90", "2 0", "0 > 2")
    assert len(row) == len(HEADERS)
