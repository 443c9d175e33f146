"""The rules of a spec: each refuses what it should, names the field, and says what to do."""

import os
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import RULES, violations
from contracts.api.violation import Violation
from tests.contracts.api.case import Case
from tests.contracts.api.clusters import cluster, cluster_object, with_request
from tests.contracts.api.rule_cases import CASES, CODE_CASES
from tests.contracts.api.rules.cluster_cases import ALLOWED_CHANGES, FINE

ALL = {**CASES, **CODE_CASES}
BY_ID = {rule.id: rule for rule in RULES}
TEXTS = Path(__file__).parents[3] / "golden" / "violations.txt"


def _violations_of(case: Case) -> tuple[Violation, ...]:
    old = None if case.before is None else cluster(case.name, **case.before)
    new = OpenBaoCluster.from_object(
        {**cluster_object(case.name, **case.spec), "status": case.status}
    )
    return violations(new, old)


@pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())
def test_each_case_breaks_only_its_own_rule(case: Case) -> None:
    """A case that breaks one rule tests exactly this rule."""
    rule_violations = _violations_of(case)
    assert case.field in {violation.field for violation in rule_violations}
    assert {violation.rule for violation in rule_violations} == {case.rule}


def test_the_messages_match_the_golden_file() -> None:
    """UPDATE_GOLDEN=1 writes them; read the difference before you commit it."""
    texts = "".join(
        f"{title}\n" + "".join(f"    {violation}\n" for violation in _violations_of(case))
        for title, case in sorted(ALL.items())
    )
    if os.environ.get("UPDATE_GOLDEN"):
        TEXTS.write_text(texts, encoding="utf-8")
    assert texts == TEXTS.read_text(encoding="utf-8")


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} == {rule.id for rule in RULES if rule.cel}
    assert {case.rule for case in CODE_CASES.values()} == {
        rule.id for rule in RULES if not rule.cel
    }


def test_rule_ids_are_unique() -> None:
    assert len(BY_ID) == len(RULES)


@pytest.mark.parametrize("spec", FINE.values(), ids=FINE.keys())
def test_a_valid_spec_is_accepted(spec: dict[str, Any]) -> None:
    assert violations(cluster(**spec)) == ()


@pytest.mark.parametrize(("before", "after"), ALLOWED_CHANGES.values(), ids=ALLOWED_CHANGES.keys())
def test_a_change_is_accepted(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert violations(cluster("c", **after), cluster("c", **before)) == ()


def test_update_rules_need_the_former_object() -> None:
    assert violations(cluster(storage={"size": "1Mi", "storageClassName": "x"})) == ()


def test_a_violation_is_one_line_with_field_value_and_next_step() -> None:
    (violation,) = violations(cluster(version="2.3.0"))
    assert str(violation) == (
        "spec.version: must be 2.4.0 or newer, the first version with a static seal; choose a "
        "newer one (got 2.3.0)"
    )


def test_a_violation_shows_no_raw_bytes_and_no_long_value() -> None:
    issuer = "http://" + "\x1b" * 300
    spec = {"selfInit": {**with_request(), "oidc": {"enabled": True, "issuer": issuer}}}
    (violation,) = violations(cluster("c", **spec))
    assert "\x1b" not in str(violation)
    assert len(violation.value) <= 80
