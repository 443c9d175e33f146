"""docs/admission.md names the place that enforces each rule of the API."""

import re

import pytest

from baoctl.generate.main import ADMISSION_PAGE, ROOT
from contracts.admission.policies import POLICIES
from contracts.api.rules.cluster import RULES

PAGE = (ROOT / ADMISSION_PAGE).read_text(encoding="utf-8")
IN_CRD = {rule.id for rule in RULES if rule.cel}
IN_CODE = {rule.id for rule in RULES if not rule.cel}
IN_POLICIES = {validation.rule_id for policy in POLICIES for validation in policy.validations}
WHERE = {"CRD": IN_CRD, "code": IN_CODE, "policy": IN_POLICIES}


def _rows() -> list[tuple[str, str, list[str]]]:
    table = PAGE.partition("| rule | where | ids |\n|---|---|---|\n")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()]
    return [(rule, where, re.findall(r"`([^`]+)`", ids)) for rule, where, ids in cells]


ROWS = _rows()


def test_the_page_has_the_table() -> None:
    assert len(ROWS) >= 30


@pytest.mark.parametrize(("rule", "where", "ids"), ROWS, ids=[row[0] for row in ROWS])
def test_each_rule_is_enforced_where_the_page_says(rule: str, where: str, ids: list[str]) -> None:
    if where in ("advice", "not needed"):
        return
    places = where.split(", ")
    for rule_id in ids:
        assert any(rule_id in WHERE[place] for place in places), rule_id
    for place in places:
        assert not ids or any(rule_id in WHERE[place] for rule_id in ids), place


def test_every_rule_of_profile_hardened_is_on_the_page() -> None:
    rule_ids = {rule_id for _, _, ids in ROWS for rule_id in ids}
    assert {rule_id for rule_id in IN_CRD if rule_id.startswith("hardened-")} <= rule_ids
