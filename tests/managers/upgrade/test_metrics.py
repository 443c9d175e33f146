"""managers.upgrade.metrics: the series about upgrades, and their lifetime."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, get_args

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import BlueGreenPhase
from contracts.api.group import CLUSTERS
from contracts.rfc3339 import rfc3339
from managers.cluster.apply.status_writer import StatusWriter
from managers.upgrade.metrics import VERSION_PAIRS_MAX, UpgradeMetrics
from runtime.metrics.metrics import Metrics
from runtime.types import ObjectKey
from tests import gen
from tests.gen.api import Outside, StillInformer
from tests.house.checkout import ROOT
from tests.managers.upgrade.statuses import BEGUN, FAILED, ROLLS, status

KEY = ObjectKey(gen.NAMESPACE, "x")
NOW = gen.NOW
PAGE = (ROOT / "docs" / "upgrade-metrics.md").read_text(encoding="utf-8")


class Bench:
    """The metrics of one cluster whose status a test writes."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.cache = StillInformer(CLUSTERS)
        self.ours = UpgradeMetrics(self.metrics, self.cache)
        self.known = ClusterStatus()
        self.version = 0

    def write(self, after: ClusterStatus, seconds: float = 0.0) -> None:
        """Write a status that many seconds after the start."""
        self.ours.changed(KEY, self.known, after, NOW + timedelta(seconds=seconds))
        self.known = after
        self.version += 1
        cluster = gen.cluster(replicas=3).with_status(**after.to_object())
        self.cache.says(cluster.with_metadata(resourceVersion=str(self.version)).object())

    def series(self) -> dict[str, float]:
        """The series about upgrades, without the labels of the object."""
        values = {}
        text = generate_latest(self.metrics.registry).decode()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if not sample.name.startswith("openbao_upgrade"):
                    continue
                labels = dict(sample.labels)
                assert labels.pop("namespace") == KEY.namespace
                assert labels.pop("name") == KEY.name
                more = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
                values[f"{sample.name}{{{more}}}" if more else sample.name] = sample.value
        return values


def since(upgrade: dict[str, Any], seconds: float = 0.0, **more: Any) -> dict[str, Any]:
    step = rfc3339(NOW + timedelta(seconds=seconds))
    return {**upgrade, "startedAt": rfc3339(NOW), "stepStartedAt": step, **more}


def upgrading(reason: str) -> dict[str, Any]:
    return {"type": "Upgrading", "status": "False", "reason": reason, "message": ""}


SECOND = {"phase": "Idle", "operationID": "0123456789", "greenRevision": "0123456789abcdef"}
GIVEN_UP = {"phase": "Idle", "failedRevision": "0123456789abcdef"}
OVER = status(None, "2.5.0", conditions=[upgrading("Idle")], replicas=3)

# sentence: (status, state, in progress, completed, total, partition)
STATES: dict[str, tuple[ClusterStatus, tuple[float, ...]]] = {
    "never upgraded": (status(None), (0, 0, 0, 0, 0)),
    "the start": (status(BEGUN), (1, 1, 0, 3, 0)),
    "rolling": (status({**ROLLS, "completedPods": [2], "currentPartition": 2}), (1, 1, 1, 3, 2)),
    "a failure": (status(FAILED), (3, 0, 0, 3, 3)),
    "completed": (OVER, (2, 0, 0, 0, 0)),
    "blue/green": (status(None, blueGreen={"phase": "Syncing"}), (1, 1, 0, 0, 0)),
    "blue/green: started": (status(None, blueGreen=SECOND), (1, 1, 0, 0, 0)),
    "blue/green: rolled back": (
        status(None, blueGreen=GIVEN_UP, conditions=[upgrading("UpgradeRollback")]), (3, 0, 0, 0, 0)
    ),
    "blue/green: failed snapshot": (
        status(None, blueGreen=GIVEN_UP, conditions=[upgrading("PreUpgradeBackupFailed")]),
        (3, 0, 0, 0, 0),
    ),
    "blue/green: completed": (
        status(None, blueGreen={"phase": "Idle"}, conditions=[upgrading("Idle")]), (2, 0, 0, 0, 0),
    ),
    "blue/green: failed rollback": (
        status(None, blueGreen={**SECOND, "phase": "RollingBack"}, breakGlass={"active": True}),
        (3, 1, 0, 0, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("status", "expected"), STATES.values(), ids=STATES.keys())
def test_the_phase_and_progress_of_an_upgrade(
    status: ClusterStatus, expected: tuple[float, ...]
) -> None:
    bench = Bench()
    bench.write(status)
    series = bench.series()
    names = ("status", "in_progress", "pods_completed", "pods_total", "partition")
    assert tuple(series[f"openbao_upgrade_{name}"] for name in names) == expected


def a_whole_one(bench: Bench, to: str = "2.5.0") -> None:
    rolls = {**ROLLS, "targetVersion": to}
    bench.write(status(since({**BEGUN, "targetVersion": to})))
    bench.write(status(since(rolls, 5), to), 5)
    bench.write(status(since(rolls, 20, completedPods=[2]), to), 20)
    bench.write(status(since(rolls, 50, completedPods=[2, 1]), to), 50)
    entries = since(rolls, 51, completedPods=[2, 1], stepDownJob="upgrade-x", stepDowns=1)
    bench.write(status(entries, to), 51)
    bench.write(OVER if to == "2.5.0" else status(None, to, replicas=3), 90)


def test_a_whole_upgrade_is_observed_once() -> None:
    bench = Bench()
    a_whole_one(bench)
    pair = "from_version=2.4.0,to_version=2.5.0"
    series = bench.series()
    assert series[f"openbao_upgrade_duration_seconds_count{{{pair}}}"] == 1
    assert series[f"openbao_upgrade_duration_seconds_sum{{{pair}}}"] == 90
    pods = {n: series[f"openbao_upgrade_pod_duration_seconds_sum{{ordinal={n}}}"] for n in range(3)}
    assert pods == {2: 15, 1: 30, 0: 39}
    assert series["openbao_upgrade_stepdown_total"] == 1
    assert series["openbao_upgrade_stepdown_failures_total"] == 0
    bench.write(bench.known, 1000)
    assert bench.series() == series
    bench.cache.says()
    bench.ours.forget(KEY)
    assert bench.series() == {}, "no series outlives its cluster"


@pytest.mark.parametrize(
    ("reason", "failures"), [("StepDownTimeout", 1), ("StepDownFailed", 1), ("PodNotReady", 0)]
)
def test_a_failed_step_down_is_counted_once(reason: str, failures: int) -> None:
    bench = Bench()
    entries = since(ROLLS, 5, stepDownJob="upgrade-x")
    failed = {**entries, "failure": {"reason": reason, "message": "it leads"}}
    for seen in (status(entries), status(failed), status(failed)):
        bench.write(seen, 70)
    assert bench.series()["openbao_upgrade_stepdown_failures_total"] == failures
    assert bench.series()["openbao_upgrade_stepdown_total"] == 1


def test_a_reverted_upgrade_has_no_duration() -> None:
    bench = Bench()
    bench.write(status(since(BEGUN)))
    bench.write(status(None), 30)
    assert not [name for name in bench.series() if "duration" in name]


def test_a_replacement_across_a_pause_has_no_duration() -> None:
    bench = Bench()
    bench.write(status(since(ROLLS)))
    paused = {**ROLLS, "startedAt": rfc3339(NOW)}
    bench.write(status(paused), 5)
    bench.write(status(since(ROLLS, 7000, completedPods=[2])), 7000)
    assert not [name for name in bench.series() if "pod_duration" in name]


def test_the_number_of_series_is_limited() -> None:
    bench = Bench()
    for patch in range(VERSION_PAIRS_MAX + 5):
        a_whole_one(bench, f"2.6.{patch}")
    counts = [name for name in bench.series() if "duration_seconds_count{from" in name]
    assert len(counts) == VERSION_PAIRS_MAX + 1
    other = "openbao_upgrade_duration_seconds_count{from_version=other,to_version=other}"
    assert bench.series()[other] == 5


async def test_only_a_successful_status_write_is_counted() -> None:
    bench, outside = Bench(), Outside()
    cluster = gen.cluster(replicas=3)
    outside.api.with_objects((CLUSTERS, cluster.object()))
    writer = StatusWriter(outside.api, bench.cache, outside.events, outside.clock, bench.ours)
    live_status = status(since(ROLLS, stepDownJob="upgrade-x"))
    live = outside.api.of(CLUSTERS)[0]
    gone = {**live, "metadata": {**live["metadata"], "uid": "gone"}}
    assert await writer.write(gone, live_status) is None
    assert "openbao_upgrade_stepdown_total" not in bench.series()
    await writer.write(live, live_status)
    assert bench.series()["openbao_upgrade_stepdown_total"] == 1
    assert [reason for _, reason, _ in await outside.flush_events()] == ["UpgradeStarted"]
    await writer.write(outside.api.of(CLUSTERS)[0], live_status)
    assert bench.series()["openbao_upgrade_stepdown_total"] == 1
    assert await outside.flush_events() == []
    writer.forget(KEY)


def a_green_pool(bench: Bench, phase: str, *, glass: bool = False, **told: Any) -> None:
    """Write a status with a green pool."""
    known = {**SECOND, "phase": phase, **told}
    bench.write(status(None, blueGreen=known, breakGlass={"active": glass}))


def test_exactly_one_blue_green_phase_is_active() -> None:
    bench = Bench()
    assert not [name for name in bench.series() if "bluegreen" in name]
    for phase in get_args(BlueGreenPhase):
        a_green_pool(bench, phase)
        series = {n: v for n, v in bench.series().items() if "bluegreen_phase" in n}
        assert len(series) == len(get_args(BlueGreenPhase))
        assert [n for n, v in series.items() if v] == [
            f"openbao_upgrade_bluegreen_phase{{phase={phase}}}"
        ]


def test_failed_jobs_and_rollbacks_are_counted_once() -> None:
    bench = Bench()
    a_green_pool(bench, "JoiningMesh")
    counted = ("job_failures", "rollbacks")
    assert [bench.series()[f"openbao_upgrade_bluegreen_{name}_total"] for name in counted] == [0, 0]
    for failed in (1, 1, 2):
        a_green_pool(bench, "JoiningMesh", jobFailureCount=failed)
    a_green_pool(bench, "Syncing")
    for phase in ("Promoting", "RollingBack", "RollingBack", "RollbackCleanup"):
        a_green_pool(bench, phase)
    series = bench.series()
    assert series["openbao_upgrade_bluegreen_job_failures_total"] == 2
    assert series["openbao_upgrade_bluegreen_rollbacks_total"] == 1
    bench.cache.says()
    bench.ours.forget(KEY)
    assert bench.series() == {}


def test_break_glass_is_reported_until_it_is_answered() -> None:
    bench = Bench()
    values = []
    for glass in (False, True, False):
        a_green_pool(bench, "RollingBack", glass=glass)
        values.append(bench.series()["openbao_upgrade_break_glass_active"])
    assert values == [0, 1, 0]


def test_the_page_lists_what_a_scrape_shows() -> None:
    bench = Bench()
    a_whole_one(bench)
    a_green_pool(bench, "Syncing")
    shown = set()
    for family in text_string_to_metric_families(generate_latest(bench.metrics.registry).decode()):
        if family.name.startswith("openbao_upgrade"):
            name = family.name + ("_total" if family.type == "counter" else "")
            more = {label for sample in family.samples for label in sample.labels}
            labels = ", ".join(sorted(more - {"namespace", "name", "le"}))
            shown.add((name, family.type, labels))
    assert set(re.findall(r"^\| `(openbao_\w+)` \| (\w+) \| ([\w, ]*?) ?\|", PAGE, re.M)) == shown
