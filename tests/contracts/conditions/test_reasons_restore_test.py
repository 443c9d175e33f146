"""The page documents every reason of a restore test as the table has it."""

import re

from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS
from managers.restore_test.metrics import FAMILIES
from tests.house.checkout import ROOT

TEXT = (ROOT / "docs" / "restore-test.md").read_text(encoding="utf-8")


def test_the_document_has_each_reason_as_the_table_has_it() -> None:
    matches = re.findall(r"^\| `([A-Za-z]+)` \| (\w+) \| (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)
    assert matches == [
        (reason.name, reason.outcome, reason.meaning, reason.next_step)
        for reason in RESTORE_TEST_REASONS.values()
    ]


def test_the_document_has_each_metric() -> None:
    matches = re.findall(r"^\| `(openbao_[a-z_]+)` \| (.+?) \|$", TEXT, re.MULTILINE)
    assert matches == [(name, meaning) for name, meaning, _ in FAMILIES]


def test_only_restored_is_a_success() -> None:
    assert [
        restore_test_reason.name
        for restore_test_reason in RESTORE_TEST_REASONS.values()
        if restore_test_reason.outcome == "Passed"
    ] == ["Restored"]


def test_each_reason_is_explained_in_sentences() -> None:
    for reason in RESTORE_TEST_REASONS.values():
        for text in (reason.meaning, reason.next_step):
            assert text.endswith("."), text
