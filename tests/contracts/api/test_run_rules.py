"""The rules of backups and restores: each refuses what it should, and names the field."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from contracts.api.backup import OpenBaoBackup
from contracts.api.restore import OpenBaoRestore, RestoreSpec
from contracts.api.rules.backup_object import SNAPSHOT_RULES, snapshot_violations
from contracts.api.rules.combinators import prefix_rules
from contracts.api.rules.restore import (
    REFERENCES,
    RESTORE_RULES,
    hardened_violations,
    restore_violations,
)
from contracts.api.rules.rule import RuleOf
from contracts.api.rules.snapshot_store import TARGET_RULES
from contracts.api.violation import Violation
from tests.contracts.api.case import Case, hardened_spec
from tests.contracts.api.clusters import cluster
from tests.contracts.api.run_objects import (
    BACKUP_CASES,
    BACKUP_FINE,
    KEY,
    RESTORE_CASES,
    RESTORE_CODE_CASES,
    RESTORE_FINE,
    STORE,
    Spec,
    backup_object,
    from_store,
    restore_object,
)
from tests.contracts.api.secret_references import references

ALL_RESTORE = {**RESTORE_CASES, **RESTORE_CODE_CASES}


def backup(**spec: Any) -> OpenBaoBackup:
    return OpenBaoBackup.from_object(backup_object(**spec))


def restore(**spec: Any) -> OpenBaoRestore:
    return OpenBaoRestore.from_object(restore_object(**spec))


def _of_backup(case: Case) -> tuple[Violation, ...]:
    old = None if case.before is None else backup(**case.before)
    return snapshot_violations(backup(**case.spec), old)


def _of_restore(case: Case) -> tuple[Violation, ...]:
    old = None if case.before is None else restore(**case.before)
    return restore_violations(restore(**case.spec), old)


def _judge(cases: dict[str, Case], judged: Callable[[Case], tuple[Violation, ...]]) -> list[Any]:
    return [pytest.param(case, judged, id=name) for name, case in cases.items()]


@pytest.mark.parametrize(
    ("case", "judge"), [*_judge(BACKUP_CASES, _of_backup), *_judge(ALL_RESTORE, _of_restore)]
)
def test_each_case_breaks_only_its_own_rule(
    case: Case, judge: Callable[[Case], tuple[Violation, ...]]
) -> None:
    rule_violations = judge(case)
    assert (case.rule, case.field) in {
        (violation.rule, violation.field) for violation in rule_violations
    }
    assert {violation.rule for violation in rule_violations} == {case.rule}


@pytest.mark.parametrize(
    ("rules", "cases"),
    [(SNAPSHOT_RULES, BACKUP_CASES), (RESTORE_RULES, ALL_RESTORE)],
    ids=["backup", "restore"],
)
def test_every_rule_has_a_case_and_a_unique_id(
    rules: tuple[RuleOf[Any], ...], cases: dict[str, Case]
) -> None:
    assert {case.rule for case in cases.values()} == {rule.id for rule in rules}
    assert len({rule.id for rule in rules}) == len(rules)


def test_rules_without_cel_are_checked_by_the_operator() -> None:
    assert {case.rule for case in RESTORE_CODE_CASES.values()} == {
        rule.id for rule in RESTORE_RULES if not rule.cel
    }


@pytest.mark.parametrize("spec", BACKUP_FINE.values(), ids=BACKUP_FINE.keys())
def test_a_backup_is_accepted(spec: Spec) -> None:
    assert snapshot_violations(backup(**spec), backup(**spec)) == ()


@pytest.mark.parametrize("spec", RESTORE_FINE.values(), ids=RESTORE_FINE.keys())
def test_a_restore_is_accepted(spec: Spec) -> None:
    assert restore_violations(restore(**spec), restore(**spec)) == ()


def test_a_changed_spec_is_detected_by_its_generation() -> None:
    body = restore_object()
    for generation, expected in ((1, set()), (2, {"restore-fixed"})):
        body["metadata"]["generation"] = generation
        violations = restore_violations(OpenBaoRestore.from_object(body))
        assert {violation.rule for violation in violations} == expected


def test_every_reference_to_a_secret_has_its_rule() -> None:
    fields = {f"spec.{path}".removesuffix(".name") for path in references(RestoreSpec)}
    assert fields == set(REFERENCES)


def test_the_rules_of_a_store_apply_at_every_path() -> None:
    rules = prefix_rules(TARGET_RULES, "x", "spec.source.target")
    elsewhere = restore(source={"backup": "b"})
    assert [rule.id for rule in rules] == [f"x-{rule.id}" for rule in TARGET_RULES]
    for rule in rules:
        assert re.fullmatch(r"spec\.source\.target(\.\w+)?", rule.field)
        assert rule.field.startswith(rule.at)
        assert list(rule.find_invalid_fields(elsewhere, None)) == []


class TestHardened:
    STRICT = hardened_spec(network={"egressRules": []})

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            (from_store(credentialsSecretRef={"name": "s"}), set()),
            (
                {
                    "source": {
                        "target": {"provider": "pvc", "bucket": "b", "pvc": {"claimName": "v"}},
                        "key": KEY,
                    }
                },
                set(),
            ),
            (from_store(), {("hardened-backup-identity", "spec.source.target")}),
            (
                from_store(
                    endpoint="http://s3.example.com",
                    roleArn="arn:aws:iam::1:role/x",
                    insecureSkipVerify=True,
                ),
                {
                    ("hardened-backup-scheme", "spec.source.target.endpoint"),
                    ("hardened-backup-check", "spec.source.target.insecureSkipVerify"),
                },
            ),
            ({"source": {"backup": "b"}}, set()),
        ],
        ids=["an identity", "a volume", "nobody", "in the open", "a backup of the cluster"],
    )
    def test_the_store_is_as_strict_as_that_of_backups(
        self, source: Spec, expected: set[tuple[str, str]]
    ) -> None:
        violations = hardened_violations(restore(**source), cluster(**self.STRICT))
        assert {(violation.rule, violation.field) for violation in violations} == expected

    def test_another_profile_has_no_hardened_rules(self) -> None:
        target = {**STORE, "insecureSkipVerify": True}
        loose = restore(source={"target": target, "key": KEY})
        assert hardened_violations(loose, cluster()) == ()
