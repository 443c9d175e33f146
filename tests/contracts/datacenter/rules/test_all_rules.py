"""The rules of services at every path: each refuses its cases and names the field."""

from collections.abc import Callable
from typing import Any

import pytest

from contracts.api.rules.rule import RuleOf
from contracts.api.violation import Violation
from contracts.datacenter.objects import BootstrapServiceSet, Datacenter
from contracts.datacenter.rules.all_rules import (
    BODY_RULES,
    DATACENTER_RULES,
    SET_RULES,
    WORKLOAD_RULES,
    check_service,
    check_services,
    datacenter_violations,
    read_services,
    set_violations,
    workload_violations,
)
from contracts.datacenter.rules.openbao import UNKNOWN_MESSAGE
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload import BootstrapWorkload
from tests.contracts.datacenter.cases import CASES, CODE_CASES, TWICE_CASES, UNIQUE_CASES, Case
from tests.contracts.datacenter.fine import FINE, VAULT_CASES
from tests.contracts.datacenter.rules.violation_sets import broken_rules, violations_of
from tests.contracts.datacenter.services import (
    VAULT_SPEC,
    Object,
    datacenter_object,
    service,
    set_object,
    vault,
    workload_object,
)

ALL_CASES = {**CASES, **CODE_CASES, **UNIQUE_CASES}
PLACES: dict[str, tuple[str, Callable[[Object], tuple[Violation, ...]]]] = {
    "datacenter": (
        "spec.bootstrapServices[0]",
        lambda body: datacenter_violations(Datacenter.from_object(datacenter_object(body))),
    ),
    "set": (
        "spec.services[0]",
        lambda body: set_violations(BootstrapServiceSet.from_object(set_object(body))),
    ),
    "record": (
        "spec.service",
        lambda body: workload_violations(BootstrapWorkload.from_object(workload_object(body))),
    ),
    "answer": ("hook/a[0]", lambda body: violations_of(lambda: read_services([body], "hook/a"))),
}
each_place = pytest.mark.parametrize(("path", "judged"), PLACES.values(), ids=PLACES.keys())


@each_place
@pytest.mark.parametrize("case", ALL_CASES.values(), ids=ALL_CASES.keys())
def test_each_case_breaks_only_its_own_rule(
    path: str, judged: Callable[[Object], tuple[Violation, ...]], case: Case
) -> None:
    assert broken_rules(judged(case.service)) == {(f"service-{case.rule}", f"{path}.{case.field}")}


@pytest.mark.parametrize(("case", "other"), TWICE_CASES.values(), ids=TWICE_CASES.keys())
def test_some_cases_break_a_second_rule(case: Case, other: str) -> None:
    rule_paths = broken_rules(
        tuple(check_service(BootstrapService.model_validate(case.service), "s"))
    )
    assert (f"service-{case.rule}", f"s.{case.field}") in rule_paths
    assert {rule for rule, _ in rule_paths} == {f"service-{case.rule}", f"service-{other}"}


@each_place
@pytest.mark.parametrize("body", FINE.values(), ids=FINE.keys())
def test_a_valid_service_is_accepted(
    path: str, judged: Callable[[Object], tuple[Violation, ...]], body: Object
) -> None:
    assert judged(body) == ()


@each_place
@pytest.mark.parametrize(("spec", "rule", "field"), VAULT_CASES.values(), ids=VAULT_CASES.keys())
def test_a_vault_is_checked_by_the_rules_of_clusters(
    path: str,
    judged: Callable[[Object], tuple[Violation, ...]],
    spec: Object,
    rule: str,
    field: str,
) -> None:
    rule_violations = judged(vault(openbao=spec))
    assert broken_rules(rule_violations) == {(rule, f"{path}.{field}")}
    assert all(violation.message for violation in rule_violations)


def test_an_unknown_field_of_a_vault_is_reported() -> None:
    (violation,) = check_service(
        BootstrapService.model_validate(vault(openbao={**VAULT_SPEC, "hostPath": "/"})), "s"
    )
    assert str(violation) == f"s.openbao.hostPath: {UNKNOWN_MESSAGE} (got /)"


def test_a_vault_may_name_its_own_pods_if_the_datacenter_is_known() -> None:
    body = BootstrapService.model_validate(
        vault(openbao={**VAULT_SPEC, "fencedPods": ["fra1-vault-0"]})
    )
    assert check_service(body, "s", "fra1") == []
    assert broken_rules(tuple(check_service(body, "s", "ams1"))) == {
        ("fenced-pod-name", "s.openbao.fencedPods")
    }
    declared = Datacenter.from_object(datacenter_object(body.to_object()))
    assert datacenter_violations(declared) == ()


def test_every_rule_has_a_case_and_a_unique_id() -> None:
    cases = [*ALL_CASES.values(), *(case for case, _ in TWICE_CASES.values())]
    assert {case.rule for case in cases} == {rule.id for rule in BODY_RULES}
    assert len({rule.id for rule in BODY_RULES}) == len(BODY_RULES)


def test_every_case_of_the_api_server_has_cel() -> None:
    assert {case.rule for case in CASES.values()} == {rule.id for rule in BODY_RULES if rule.cel}


@pytest.mark.parametrize("rules", [DATACENTER_RULES, SET_RULES, WORKLOAD_RULES])
def test_every_kind_has_every_rule_of_a_service(rules: tuple[RuleOf[Any], ...]) -> None:
    ids = [rule.id for rule in rules]
    assert len(set(ids)) == len(ids)
    assert [rule_id for rule_id in ids if rule_id.startswith("service-")] == [
        f"service-{rule.id}" for rule in BODY_RULES
    ]


# --- lists --------------------------------------------------------------------------------------

LISTS: dict[str, tuple[str, str, list[Object]]] = {
    "a name twice": ("services-unique", "[1].name", [service("a"), service("a", kind="DaemonSet")]),
    "two that depend on each other": (
        "services-circle",
        "",
        [service("a", dependsOn=["b"]), service("b", dependsOn=["a"])],
    ),
    "a vault that depends on a service that waits for vaults": (
        "services-circle",
        "",
        [vault("v", dependsOn=["a"]), service("a", dependsOn=["openbao:ready"])],
    ),
    "three in a cycle": (
        "services-circle",
        "",
        [
            service("a", dependsOn=["b"]),
            vault("v", dependsOn=["a"]),
            service("b", dependsOn=["openbao:ready"]),
        ],
    ),
}


@pytest.mark.parametrize(("rule", "field", "bodies"), LISTS.values(), ids=LISTS.keys())
def test_a_list_is_refused(rule: str, field: str, bodies: list[Object]) -> None:
    judged = {
        "spec.bootstrapServices": datacenter_violations(
            Datacenter.from_object(datacenter_object(*bodies))
        ),
        "spec.services": set_violations(BootstrapServiceSet.from_object(set_object(*bodies))),
        "hook/a": violations_of(lambda: read_services(bodies, "hook/a")),
    }
    for path, rule_violations in judged.items():
        assert broken_rules(rule_violations) == {(rule, f"{path}{field}")}


def test_a_cycle_is_shown_and_a_self_dependency_is_reported_once() -> None:
    circle = [service("b", dependsOn=["a"]), service("a", dependsOn=["b", "a"])]
    services = check_services([BootstrapService.model_validate(body) for body in circle], "s")
    assert [(violation.rule, violation.field, violation.value) for violation in services] == [
        ("services-circle", "s", "a -> b -> a"),
        ("service-depends-on-itself", "s[1].dependsOn[1]", "a"),
    ]


def test_a_valid_list_may_depend_on_services_of_other_sources() -> None:
    bodies = [
        service("a", dependsOn=["b", "elsewhere"]),
        service("b", dependsOn=["openbao:ready"]),
        vault("v", dependsOn=["c"]),
        service("c"),
    ]
    assert datacenter_violations(Datacenter.from_object(datacenter_object(*bodies))) == ()
    assert len(read_services(bodies, "hook/a")) == 4


# --- the kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fra1", True),
        ("a", True),
        ("a-1", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("1fra", False),
        ("fra.1", False),
        ("", False),
    ],
)
def test_names_of_a_datacenter(name: str, expected: bool) -> None:
    violations = datacenter_violations(Datacenter.from_object(datacenter_object(name=name)))
    assert broken_rules(violations) == (
        set() if expected else {("datacenter-name", "metadata.name")}
    )


@pytest.mark.parametrize(
    ("namespace", "before", "expected"),
    [
        ("dc-fra1", "dc-fra1", set()),
        ("dc-fra1", None, set()),
        ("dc-fra2", "dc-fra1", {"datacenter-namespace-fixed"}),
        ("kube-system", None, {"datacenter-namespace-system"}),
        ("kube-system", "kube-system", {"datacenter-namespace-system"}),
        ("kubernetes", None, set()),
    ],
)
def test_the_namespace_of_a_datacenter(
    namespace: str, before: str | None, expected: set[str]
) -> None:
    old = None if before is None else Datacenter.from_object(datacenter_object(namespace=before))
    violations = datacenter_violations(
        Datacenter.from_object(datacenter_object(namespace=namespace)), old
    )
    assert broken_rules(violations) == {(rule, "spec.namespace") for rule in expected}


def test_a_datacenter_allows_no_kind_of_the_operator() -> None:
    kinds = [{"group": "", "kind": "ConfigMap"}, {"group": "openbao.org", "kind": "Datacenter"}]
    violations = datacenter_violations(Datacenter.from_object(datacenter_object(objectKinds=kinds)))
    assert broken_rules(violations) == {("datacenter-object-kinds", "spec.objectKinds[1].group")}


@pytest.mark.parametrize(
    ("name", "expected"), [("fra1.log-shipper", True), ("fra1-log-shipper", False), ("x", False)]
)
def test_the_name_of_a_record(name: str, expected: bool) -> None:
    workload = BootstrapWorkload.from_object(workload_object(service(), name=name))
    violations = workload_violations(workload)
    assert broken_rules(violations) == (set() if expected else {("workload-name", "metadata.name")})
