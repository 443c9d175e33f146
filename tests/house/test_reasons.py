"""Every condition and reason of the catalog is used."""

from contracts.conditions.catalog import REASONS, TYPES
from contracts.conditions.reasons_tenant import TENANT_REASONS
from contracts.datacenter.reasons import DATACENTER_REASONS
from tests.house.checkout import LAYERS, Source, python_sources
from tests.house.reasons import (
    findings,
    is_about_datacenters,
    is_about_tenants,
    unstated_types,
    unused_reasons,
)
from tests.house.rule import expect_none

_CATALOG = (
    "contracts/conditions/catalog.py",
    "contracts/conditions/reasons.py",
    "contracts/datacenter/reasons.py",
    "contracts/conditions/reasons_networking.py",
    "contracts/conditions/reasons_workload.py",
    "contracts/conditions/reasons_tenant.py",
)


def _is_use(source: Source) -> bool:
    """The catalog itself and the examples in this folder do not count."""
    return source.path not in _CATALOG and not source.path.startswith("tests/house/")


def test_every_reason_is_used() -> None:
    code = filter(_is_use, python_sources(*LAYERS, "tests", "e2e"))
    expect_none(unused_reasons(code, REASONS), "unused reasons")


def test_every_reason_of_a_tenant_is_used_and_expected() -> None:
    sources = (source for source in python_sources("managers") if is_about_tenants(source.path))
    expect_none(unused_reasons(sources, TENANT_REASONS), "unused reasons of tenants")
    folders = ("tests/managers/tenancy/", "e2e/tenant_lifecycle/")
    tests = (source for source in python_sources("tests", "e2e") if source.path.startswith(folders))
    expect_none(unused_reasons(tests, TENANT_REASONS), "reasons that no test expects")


def test_every_reason_of_a_datacenter_is_used_and_expected() -> None:
    sources = (source for source in python_sources("managers") if is_about_datacenters(source.path))
    expect_none(unused_reasons(sources, DATACENTER_REASONS), "unused reasons of datacenters")
    tests = (
        source
        for source in python_sources("tests")
        if source.path.startswith("tests/managers/datacenter/test_reconcile")
    )
    expect_none(unused_reasons(tests, DATACENTER_REASONS), "reasons that no test expects")


def test_every_condition_type_is_reported() -> None:
    expect_none(unstated_types(python_sources("managers")), "unused condition types")


def test_every_reason_belongs_to_a_condition() -> None:
    answers = {reason for kind in TYPES for reason in kind.reasons}
    assert sorted(REASONS.keys() ^ answers) == []


def test_an_unused_reason_is_reported() -> None:
    text = "\n".join(repr(reason) for reason in REASONS if reason != "Sealed")
    assert unused_reasons([Source("managers/x.py", text)], REASONS) == ["Sealed"]


def test_an_unused_condition_type_is_reported() -> None:
    lines = [
        f"    ConditionUpdate({kind.name!r}, 'True', r)" for kind in TYPES if kind.name != "Paused"
    ]
    planted = Source("managers/x.py", "\n".join(["def f(r):", *lines]))
    assert unstated_types([planted]) == ["Paused"]


def test_findings_are_found() -> None:
    source = Source(
        "managers/x.py", "def f():\n    kind = 'A'\n    ConditionUpdate(kind, 'True', 'B', '')"
    )
    assert list(findings(source)) == [(3, "A", "B")]
