"""The table of attacks is complete, and each test that it names exists."""

import re

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from contracts.api.violation import InvalidClusterError
from e2e.attacks.payloads import HOSTS, TEXTS, URLS
from e2e.attacks.specs import ATTEMPTS, URL_FIELDS, Attempt, with_url
from e2e.attacks.table import ATTACKS, rows
from e2e.rig.paths import REPOSITORY
from tests.contracts.api.clusters import cluster, cluster_object


def test_every_attack_of_the_list_has_a_row() -> None:
    assert [row.id for row in ATTACKS] == [f"T{number:02}" for number in range(1, 23)]
    assert len(rows()) == len(ATTACKS)
    assert {attempt.attack for attempt in ATTEMPTS} <= {row.id for row in ATTACKS}


@pytest.mark.parametrize("test", sorted({test for row in ATTACKS for test in row.tests}))
def test_a_test_of_the_table_exists(test: str) -> None:
    path, _, name = test.partition("::")
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(async )?def {name}\(", text, re.MULTILINE)


def test_every_row_has_a_test() -> None:
    assert [row.id for row in ATTACKS if not row.tests] == []


def test_the_tables_have_enough_payloads() -> None:
    assert len(set(TEXTS)) == 60
    assert len(set(HOSTS)) >= 80
    assert len(set(URLS)) >= 80


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_attack_c18_the_operator_refuses_each_attempt_with_its_field(attempt: Attempt) -> None:
    try:
        rule_violations = violations(OpenBaoCluster.from_object(cluster_object(**attempt.spec)))
    except InvalidClusterError as error:
        rule_violations = error.violations
    assert [(violation.rule, violation.field) for violation in rule_violations] == [
        (attempt.rule, attempt.field)
    ]


@pytest.mark.parametrize("field", URL_FIELDS)
def test_attack_t09_the_operator_refuses_every_url_of_the_table(field: str) -> None:
    assert violations(cluster(**with_url(field, "https://bao.example.com"))) == ()
    for url in URLS:
        try:
            rule_violations = violations(cluster(**with_url(field, url)))
        except InvalidClusterError as error:
            rule_violations = error.violations
        assert field in {violation.field for violation in rule_violations}, url
