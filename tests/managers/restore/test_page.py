"""docs/restore.md lists the reasons of the code."""

from pathlib import Path

from contracts.conditions.reasons_restore import RESTORE_REASONS
from tests.gen.reason_tables import reason_table

PAGE = (Path(__file__).parents[3] / "docs" / "restore.md").read_text(encoding="utf-8")


def test_the_page_shows_every_reason() -> None:
    assert reason_table(RESTORE_REASONS.values()) in PAGE
