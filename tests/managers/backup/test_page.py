"""docs/backup.md lists the transitions, the reasons and the metrics of the code."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from contracts.conditions.reasons_backup import RUN_REASONS
from managers.backup.schedule_plan import COMPLETED_KEPT, COMPLETED_MAX, FAILED_KEPT
from managers.backup.state_machine import TRANSITIONS
from tests.gen.reason_tables import reason_table
from tests.managers.backup.bench import Bench, by_hand

FILE = Path(__file__).parents[3] / "docs" / "backup.md"
PAGE = FILE.read_text(encoding="utf-8")


def rows() -> str:
    lines = ["| from | to | reason |", "| --- | --- | --- |"]
    lines += [
        f"| {row.at} | {row.to or ''} | {row.reason or 'from the report'} |" for row in TRANSITIONS
    ]
    return "\n".join(lines)


def test_the_page_shows_the_table() -> None:
    assert f"compares -->\n{rows()}\n<!-- end of rows" in PAGE


def test_the_page_shows_every_reason() -> None:
    assert reason_table(RUN_REASONS.values()) in PAGE


async def test_the_page_lists_all_metrics() -> None:
    bench = Bench(None, by_hand())
    await bench.run()
    bench.report(deleted=1)
    await bench.settle()
    shown = set()
    for family in text_string_to_metric_families(bench.scrape()):
        for sample in family.samples:
            if sample.name.startswith("openbao_"):
                assert set(sample.labels) == {"namespace", "name"}
                shown.add((sample.name, family.type))
    assert set(re.findall(r"^\| `(openbao_\w+)` \| (\w+) \|", PAGE, re.MULTILINE)) == shown


def test_the_page_states_the_limits_of_the_history() -> None:
    assert f"keeps the newest {COMPLETED_KEPT} that completed" in PAGE
    assert f"up to {COMPLETED_MAX}) and the newest {FAILED_KEPT} that did not" in PAGE
