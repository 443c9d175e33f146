"""`baoctl restore`: the available backups, the prompts, and the created OpenBaoRestore."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from baoctl.commands.cluster.restore import (
    SnapshotRow,
    manifest,
    retention_rule,
    snapshots_of,
)
from baoctl.exit_codes import ExitCode
from contracts.api.group import CLUSTERS, RESTORES
from contracts.api.restore import OpenBaoRestore
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.wait import eventually
from runtime.types import Object
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import keep, world
from tests.baoctl.commands.cluster.recorded_cluster import backup

SNAPSHOT = {"size": 4096, "version": "2.7.2"}
BACKUPS = (
    backup("monday", startedAt="2026-11-23T03:00:00Z", snapshot=SNAPSHOT),
    backup("wednesday", startedAt="2026-11-25T03:00:00Z", snapshot=SNAPSHOT),
    backup("tuesday", startedAt="2026-11-24T03:00:00Z", snapshot=SNAPSHOT),
    backup("without-a-time", snapshot=SNAPSHOT),
    backup("failed", startedAt="2026-11-25T04:00:00Z", snapshot=SNAPSHOT, phase="Failed"),
    backup("of-another", "second", startedAt="2026-11-25T05:00:00Z", snapshot=SNAPSHOT),
)


def with_backups() -> FakeApiServer:
    server = world()
    for snapshot in BACKUPS:
        keep(server, snapshot)
    return server


def test_completed_backups_of_the_cluster_are_listed_newest_first() -> None:
    names = [snapshot.backup for snapshot in snapshots_of("first", BACKUPS)]
    assert names == ["wednesday", "tuesday", "monday", "without-a-time"]


def test_the_created_restore_is_valid() -> None:
    (row, *_) = snapshots_of("first", BACKUPS)
    read = OpenBaoRestore.from_object(
        {**manifest("x", "default", "first", row), "metadata": {"name": "x", "uid": "u"}}
    )
    assert (read.spec.cluster, read.spec.source.backup) == ("first", "wednesday")
    assert not read.spec.force


# sentence: (arguments, typed text, exit status, part of the output, number of restores)
DIALOGUES: dict[str, tuple[tuple[str, ...], str, int, str, bool]] = {
    "chosen and confirmed": ((), "tuesday\nfirst\n", 0, "is replaced by tuesday", True),
    "named and confirmed": (("--from", "monday"), "first\n", 0, "is lost", True),
    "named with --yes": (("--from", "monday", "-y"), "", 0, "created", True),
    "another name is typed": (("--from", "monday"), "second\n", 2, "nothing was changed", False),
    "no input": (("--from", "monday"), "", 1, "no answer: nothing was changed", False),
    "a trial": (("--from", "monday", "--dry-run"), "", 0, "would be created", False),
    "a failed backup": (("--from", "failed"), "", 5, "choose one of wednesday", False),
    "a backup of another cluster": (("--from", "of-another", "-y"), "", 5, "choose one", False),
    "no backup named with --yes": (("-y",), "", 2, "choose one with --from", False),
}


@pytest.mark.parametrize(
    ("arguments", "typed", "status", "words", "ordered"), DIALOGUES.values(), ids=DIALOGUES.keys()
)
async def test_no_restore_is_created_before_the_confirmation(
    tmp_path: Path, arguments: tuple[str, ...], typed: str, status: int, words: str, ordered: bool
) -> None:
    server = with_backups()
    async with command_line(server, tmp_path) as baoctl:
        done = await baoctl("restore", "first", "--no-wait", *arguments, typed=typed)
    assert done.exit_code == status, done.output
    assert words in done.output
    specs = [obj["spec"] for obj in server.objects(RESTORES)]
    assert len(specs) == ordered
    assert all(spec["cluster"] == "first" for spec in specs)


@pytest.mark.parametrize("arguments", [(), ("--dry-run",)])
async def test_a_snapshot_of_a_later_minor_version_is_refused(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    server = with_backups()
    (cluster,) = (c for c in server.objects(CLUSTERS) if c["metadata"]["name"] == "first")
    keep(server, {**cluster, "status": {**cluster["status"], "currentVersion": "2.6.2"}})
    async with command_line(server, tmp_path) as baoctl:
        done = await baoctl("restore", "first", "--from", "monday", "-y", *arguments)
    assert done.exit_code == ExitCode.REFUSED, done.output
    assert "OpenBao 2.7.2 took monday, and first runs 2.6.2" in done.output
    assert server.objects(RESTORES) == []


def daily(*origins: str, tested: int | None = None) -> tuple[SnapshotRow, ...]:
    """One backup a day, the newest first."""
    newest = datetime(2026, 11, 25, 3, tzinfo=UTC)
    return tuple(
        SnapshotRow(
            str(age),
            newest - timedelta(days=age),
            1,
            "2.7.2",
            origin == "PreUpgrade",
            age == tested,
        )
        for age, origin in enumerate(origins)
    )


FOUR = daily(*["Scheduled"] * 4)
COUNT, AGE = "spec.backup.retention.maxCount=2", "spec.backup.retention.maxAge=48h"
# sentence: (backups, retention, the rule that removes each backup)
OUTDATED: dict[str, tuple[tuple[SnapshotRow, ...], Object, list[str]]] = {
    "no rule": (FOUR, {}, ["", "", "", ""]),
    "by count": (FOUR, {"maxCount": 2}, ["", "", COUNT, COUNT]),
    "by age": (FOUR, {"maxAge": "48h"}, ["", "", "", AGE]),
    "by both": (FOUR, {"maxCount": 2, "maxAge": "48h"}, ["", "", COUNT, COUNT]),
    "a dry run": (FOUR, {"maxCount": 2, "dryRun": True}, ["", "", "", ""]),
    "not a duration": (FOUR, {"maxAge": "2 days"}, ["", "", "", ""]),
    "the newest tested one": (
        daily(*["Manual"] * 4, tested=2), {"maxCount": 2}, ["", "", "", COUNT]
    ),
    "a snapshot of an upgrade": (
        daily("Manual", "PreUpgrade", "Manual", "Manual", "PreUpgrade"),
        {"maxCount": 2},
        ["", "", "", COUNT, ""],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "rules", "removes"), OUTDATED.values(), ids=OUTDATED.keys())
def test_a_backup_that_retention_removes_shows_the_rule(
    rows: tuple[SnapshotRow, ...], rules: Object, removes: list[str]
) -> None:
    assert [retention_rule(row, rows, rules) for row in rows] == removes


async def test_a_backup_that_retention_may_have_removed_is_marked(tmp_path: Path) -> None:
    server = with_backups()
    (cluster,) = (c for c in server.objects(CLUSTERS) if c["metadata"]["name"] == "first")
    rules = {"retention": {"maxCount": 2}}
    keep(server, {**cluster, "spec": {**cluster["spec"], "backup": rules}})
    async with command_line(server, tmp_path) as baoctl:
        chosen = await baoctl("restore", "first", "--dry-run", typed="monday\n", COLUMNS="120")
        newest = await baoctl("restore", "first", "--dry-run", "--from", "wednesday")
    assert chosen.exit_code == 0, chosen.output
    (row,) = (line for line in chosen.output.splitlines() if line.startswith("monday "))
    assert row.rstrip().endswith(f"2.7.2    may no longer exist: {COUNT}")
    assert f"the snapshot of monday may no longer exist, because {COUNT} removes" in chosen.output
    assert "may no longer exist" not in newest.output


# final phase: (exit status, part of the output)
ENDS: dict[str, tuple[int, str]] = {
    "Completed": (0, "Completed: as it ended"),
    "Failed": (1, "Failed: as it ended"),
    "Unknown": (3, "openbao.org/restore-acknowledge=op-1/Resume"),
}


@pytest.mark.parametrize(("phase", "end"), ENDS.items(), ids=ENDS.keys())
async def test_the_verb_waits_for_the_end_of_the_restore(
    tmp_path: Path, phase: str, end: tuple[int, str]
) -> None:
    server = with_backups()
    status = {
        "phase": phase,
        "message": "as it ended",
        "execution": {"stage": "Created", "operationID": "op-1"},
    }
    async with command_line(server, tmp_path) as baoctl:
        verb = asyncio.create_task(baoctl("restore", "first", "--from", "monday", "-y"))
        await eventually(lambda: verb.done() or bool(server.objects(RESTORES)))
        (ordered,) = server.objects(RESTORES)
        keep(server, {**ordered, "status": status})
        done = await verb
    assert (done.exit_code, end[1] in done.output) == (end[0], True), done.output
