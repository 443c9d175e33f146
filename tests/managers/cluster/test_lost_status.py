"""Each status field that affects decisions is lost, edited, or restored from an old backup.

The table is tests.managers.cluster.status_cases; test_lost_release covers the release, the most
severe case.
"""

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.status import ClusterStatus
from managers.cluster.resolve.restore_uid import restore_uid
from managers.operation_lock.holders import UPGRADE_HOLDER
from runtime.builtin_kinds import PVC
from tests import gen
from tests.managers.cluster.lost_status import OLD, WatchedCluster
from tests.managers.cluster.status_cases import MONTH_AGO, REVISION, ROWS, Row

PAGE = Path(__file__).parents[3] / "docs" / "status-evidence.md"
ROW = re.compile(r"^\| `([A-Za-z.]+)` \|", re.MULTILINE)


def at(status: Any, path: str) -> Any:
    """The value at a path of a status; None when it is absent."""
    for step in path.split("."):
        status = (status or {}).get(step)
    return status


@pytest.mark.parametrize("how", ["lost", "edited", "a month old"])
@pytest.mark.parametrize("field", ROWS)
async def test_no_wrong_field_breaks_a_rule(seen: WatchedCluster, field: str, how: str) -> None:
    row = ROWS[field]
    before = copy.deepcopy(seen.life.cluster["status"])
    change(seen, field, row, how)
    await seen.passes(6)
    assert seen.broken == []
    # A healthy cluster is not changed, whatever its status.
    assert (seen.life.gone, seen.life.version) == ([], OLD)
    if row.heals:
        assert at(seen.life.cluster["status"], field) == at(before, field)


def change(seen: WatchedCluster, field: str, row: Row, how: str) -> None:
    """Corrupt one field in one of the three ways."""
    if how == "lost":
        seen.lose(field)
    else:
        seen.edit({field: row.edited if how == "edited" else row.old})


async def test_a_whole_status_of_a_month_ago(seen: WatchedCluster) -> None:
    unsafe = ("blueGreen", "breakGlass")
    seen.edit({field: row.old for field, row in ROWS.items() if field not in unsafe})
    await seen.passes(10)
    assert (seen.broken, seen.life.gone, seen.life.version) == ([], [], OLD)


async def test_a_lock_without_an_upgrade_is_released(seen: WatchedCluster) -> None:
    seen.edit({"operationLock": ROWS["operationLock"].edited})
    assert seen.life.status.operation_lock is not None
    assert seen.life.status.operation_lock.holder == UPGRADE_HOLDER
    await seen.passes(3)
    assert seen.life.status.operation_lock is None


async def test_the_lock_of_another_holder_is_kept(seen: WatchedCluster) -> None:
    seen.edit({"operationLock": ROWS["operationLock"].old})
    seen.life.ask_for(version="2.4.1")
    await seen.passes(6)
    assert gen.present(seen.life.status.operation_lock).holder == "openbaobackup/ghost"
    assert (seen.broken, seen.life.gone, seen.life.version) == ([], [], OLD)


async def test_no_green_pool_is_created_on_volumes_of_an_earlier_pool(seen: WatchedCluster) -> None:
    """With deletionPolicy Retain they have old data, and clients would be routed to it."""
    for ordinal in range(3):
        seen.api.with_objects((PVC, gen.claim(f"data-x-{REVISION}-{ordinal}")))
    seen.claims = {pvc["metadata"]["name"]: pvc["metadata"]["uid"] for pvc in seen.api.of(PVC)}
    seen.edit({"blueGreen": {"phase": "Idle", "blueRevision": REVISION}})
    await seen.passes(4)
    assert seen.broken == []
    assert seen.life.condition("Ready") == ("False", "PrerequisitesMissing")


OVER = {"name": "r", "restartCompletedAt": MONTH_AGO}
# sentence: (restore in status, annotation of template, annotation of pods, which one counts)
RESTORES: dict[str, tuple[dict[str, Any] | None, str, str, str]] = {
    "never restored": (None, "", "", ""),
    "the status knows what the servers know": ({**OVER, "uid": "r1"}, "r1", "r1", "r1"),
    "the status lost it": (None, "r1", "r1", "r1"),
    "the status is older": ({**OVER, "uid": "r0"}, "r1", "r1", "r1"),
    "the status names one that no pod knows": ({**OVER, "uid": "r9"}, "", "", ""),
    "one has just replaced the data": ({"name": "r", "uid": "r2"}, "r1", "r1", "r2"),
    "the annotation of the template was removed": ({**OVER, "uid": "r1"}, "", "r1", "r1"),
}


@pytest.mark.parametrize(("known", "template", "pods", "counts"), RESTORES.values(), ids=RESTORES)
def test_which_source_counts_for_the_last_restore(
    known: dict[str, Any] | None, template: str, pods: str, counts: str
) -> None:
    live = gen.present(gen.stateful_set().facts())
    servers = tuple(gen.pod(n).since_restore(pods).facts() for n in range(3))
    status = ClusterStatus.lenient({"restore": known} if known else {})
    assert restore_uid(status, replace(live, restore_uid=template), servers) == counts


def test_the_page_and_the_table_name_the_same_fields() -> None:
    assert set(ROW.findall(PAGE.read_text("utf-8"))) == set(ROWS)


def test_every_field_of_a_status_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    fields = {model_field.alias or name for name, model_field in ClusterStatus.model_fields.items()}
    missing = {field for field in fields if f"`{field}`" not in text and f"`{field}." not in text}
    assert missing == set()
