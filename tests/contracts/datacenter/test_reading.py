"""Services from hooks are validated as by an API server, with the path of each field."""

import math
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from contracts.datacenter.objects import SERVICES_MAX, Datacenter, InvalidDatacenterError
from contracts.datacenter.rules.all_rules import read_service, read_services
from contracts.datacenter.rules.openbao import UNKNOWN_MESSAGE
from tests.contracts.datacenter.rules.violation_sets import broken_rules, violations_of
from tests.contracts.datacenter.services import (
    VAULT_SPEC,
    Object,
    datacenter_object,
    helper,
    part,
    service,
    vault,
    with_main,
    with_parts,
)

UNKNOWN: dict[str, tuple[Object, str]] = {
    "another kind of volume": (
        with_main(volumes=[{"name": "a", "mountPath": "/a", "nfs": {"path": "/"}}]),
        "services[0].volumes[0].nfs",
    ),
    "a privilege": (with_main(securityContext={"privileged": True}), "services[0].securityContext"),
    "a namespace": (service(namespace="kube-system"), "namespace"),
    "a namespace of a Secret": (
        with_main(secrets=[{"name": "a", "mountPath": "/a", "namespace": "other"}]),
        "services[0].secrets[0].namespace",
    ),
    "a network of the host": (service(hostNetwork=True), "hostNetwork"),
}


@pytest.mark.parametrize(("body", "field"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_field_is_refused_with_its_path(body: Object, field: str) -> None:
    (violation,) = violations_of(lambda: read_service(body, "hook/a[3]"))
    assert (violation.rule, violation.field) == ("schema", f"hook/a[3].{field}")
    assert violation.message == UNKNOWN_MESSAGE


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (service("../x"), "name"),
        (service("a/b"), "name"),
        (service(dependsOn=["../x"]), "dependsOn[0]"),
        (with_parts(helper("../x")), "services[1].name"),
        (with_main(secrets=[{"name": "../x", "mountPath": "/a"}]), "services[0].secrets[0].name"),
        (with_main(secrets=[{"name": "kube/x", "mountPath": "/a"}]), "services[0].secrets[0].name"),
        (
            with_main(env=[{"name": "A", "secret": {"name": "../x", "key": "k"}}]),
            "services[0].env[0].secret.name",
        ),
        (with_main(image=""), "services[0].image"),
        (with_main(image=None), "services[0].image"),
        (service(kind="CronJob"), "kind"),
        (service(runAsUser=-1), "runAsUser"),
        (
            with_main(volumes=[{"name": "a", "mountPath": "/a", "hostPath": {"path": "/"}}]),
            "services[0].volumes[0].hostPath",
        ),
        (with_main(volumes=[{"name": "a", "mountPath": "a"}]), "services[0].volumes[0].mountPath"),
        (service(name=None), "name"),
        (service(replicas=-1), "replicas"),
    ],
)
def test_a_value_that_violates_the_schema_of_its_field_is_refused(body: Object, field: str) -> None:
    (violation,) = violations_of(lambda: read_service(body, "hook/a[3]"))
    assert (violation.rule, violation.field) == ("schema", f"hook/a[3].{field}")
    if body.get("name"):
        with pytest.raises(InvalidDatacenterError, match="bootstrapServices"):
            Datacenter.from_object(datacenter_object(body))


def test_both_spellings_of_fields_are_read() -> None:
    snake = {
        "name": "a",
        "run_as_user": 5,
        "services": [{"name": "m", "image": "i", "health_check": {"http_path": "/", "port": 80}}],
    }
    camel = {
        "name": "a",
        "runAsUser": 5,
        "services": [{"name": "m", "image": "i", "healthCheck": {"httpPath": "/", "port": 80}}],
    }
    assert read_service(snake, "s") == read_service(camel, "s")
    assert read_service(MappingProxyType(camel), "s").run_as_user == 5


def test_a_constructed_model_is_validated_again() -> None:
    body = read_service(vault(), "s")
    assert read_service(body, "s") == body
    forced = body.model_copy(update={"name": "../x"})
    assert broken_rules(violations_of(lambda: read_service(forced, "s"))) == {("schema", "s.name")}
    nested = {"name": "a", "services": body.services or [read_service(service(), "s").services[0]]}
    assert read_service(nested, "s").name == "a"


def _endless() -> Iterator[Object]:
    while True:
        yield service()


def _deep(levels: int) -> Object:
    value: Object = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("value", [math.nan, object(), {1, 2}, "\ud800", _deep(2000), b"x"])
def test_a_value_that_is_not_json_is_refused(value: Any) -> None:
    (violation,) = violations_of(lambda: read_service(vault(openbao={"version": value}), "s"))
    assert (violation.rule, violation.field) == ("schema", "s")


def test_deep_and_large_values_are_refused() -> None:
    (deep,) = violations_of(lambda: read_service(vault(openbao=_deep(80)), "s"))
    assert (deep.rule, deep.field) == ("depth", "s")
    (many,) = violations_of(lambda: read_service(vault(openbao={"a": [0] * 20_001}), "s"))
    assert (many.rule, many.field) == ("size", "s")
    (long,) = violations_of(lambda: read_services(_endless(), "hook/a"))
    assert (long.field, str(SERVICES_MAX) in long.message) == ("hook/a", True)


def test_as_many_as_a_datacenter_may_declare_are_read() -> None:
    bodies = [service(f"s{number}") for number in range(SERVICES_MAX)]
    assert [validated_service.name for validated_service in read_services(bodies, "hook/a")] == [
        f"s{number}" for number in range(SERVICES_MAX)
    ]


@pytest.mark.parametrize("raw", ["a", b"a", {"name": "a"}, 5, read_service(service(), "s")])
def test_a_value_that_is_not_a_list_is_refused(raw: Any) -> None:
    (violation,) = violations_of(lambda: read_services(raw, "hook/a"))
    assert (violation.rule, violation.field) == ("schema", "hook/a")


def test_none_is_an_empty_list() -> None:
    assert read_services(None, "hook/a") == read_services([], "hook/a") == ()


def test_every_violation_in_a_list_is_reported() -> None:
    bodies: list[Any] = [5, service("../x"), service(hostNetwork=True)]
    rule_violations = violations_of(lambda: read_services(bodies, "hook/a"))
    assert [violation.field for violation in rule_violations] == [
        "hook/a[0]",
        "hook/a[1].name",
        "hook/a[2].hostNetwork",
    ]
    judged = [service(replicas=2, kind="DaemonSet"), service("b", services=[part(), part("c")])]
    assert [
        violation.field for violation in violations_of(lambda: read_services(judged, "hook/a"))
    ] == [
        "hook/a[0].replicas",
        "hook/a[1].services",
    ]


def test_a_validated_list_is_not_read_again() -> None:
    judged = read_services([service(), vault()], "hook/a", "fra1")
    assert read_services(judged, "hook/b", "ams1") is judged
    # A slice or a copy of the list is validated again.
    assert read_services(judged[:1], "hook/a") is not judged
    assert read_services([*judged], "hook/a") == judged


def test_a_list_is_validated_for_each_datacenter() -> None:
    body = vault(openbao={**VAULT_SPEC, "fencedPods": ["fra1-vault-0"]})
    judged = read_services([body], "set/a", "fra1")
    (violation,) = violations_of(lambda: read_services(judged, "set/a", "ams1"))
    assert (violation.rule, violation.field) == ("fenced-pod-name", "set/a[0].openbao.fencedPods")
