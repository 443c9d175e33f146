"""Validation rules of Datacenters, BootstrapServiceSets and BootstrapWorkloads across fields.

Uses the rule modules of this package. Called by contracts.datacenter.schema, which writes the rules
into the CRDs, and by managers.datacenter, which checks again what the API server checked: an object
may be older than a rule, the API server never validates the result of a hook, and CEL cannot
express all of it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from contracts.api.group import GROUP
from contracts.api.rules.rule import InvalidField, RuleOf, broken_rules
from contracts.api.schema.tenant import SYSTEM_MESSAGE, SYSTEM_PREFIX
from contracts.api.values.pattern import Pattern
from contracts.api.violation import Violation, format_value
from contracts.datacenter import dependencies, names
from contracts.datacenter.objects import BootstrapServiceSet, Datacenter, InvalidDatacenterError
from contracts.datacenter.rules.container import CONTAINER_RULES
from contracts.datacenter.rules.files import FILE_RULES
from contracts.datacenter.rules.hook_results import Raw, parse_service, service_list
from contracts.datacenter.rules.labels import LABEL_RULES
from contracts.datacenter.rules.objects import OBJECT_RULES
from contracts.datacenter.rules.openbao import openbao_violations
from contracts.datacenter.rules.service import FORBIDDEN, SERVICE_RULES, ServiceRule
from contracts.datacenter.rules.unique import UNIQUE_RULES, unique_names
from contracts.datacenter.service_spec import BODY_CACHE_SIZE, BootstrapService
from contracts.datacenter.workload import BootstrapWorkload
from runtime.memo import memoize

Kind = TypeVar("Kind")
Services: TypeAlias = Sequence[BootstrapService]

BODY_RULES: tuple[ServiceRule, ...] = (
    *SERVICE_RULES,
    *CONTAINER_RULES,
    *FILE_RULES,
    *LABEL_RULES,
    *UNIQUE_RULES,
    *OBJECT_RULES,
)
"""Rules of every service, in any object."""
DATACENTER_NAME_MAX = 63
_NAME = Pattern(names.NAME_PATTERN)
_NAMESPACE = "spec.namespace"
_DECLARED_PATH = "spec.bootstrapServices"
_OBJECT_KINDS = "spec.objectKinds"
_SET_PATH = "spec.services"
_WORKLOAD_PATH = "spec.service"

UNIQUE_MESSAGE = "must name each service once; rename one or remove it"
CYCLE_MESSAGE = (
    "must not depend on each other in a cycle, because none of them would ever be created; remove "
    "one of the dependsOn"
)


def _join(path: str, field: str) -> str:
    return f"{path}.{field}".strip(".") if field else path


def _breaks_a_rule(service: BootstrapService) -> bool:
    return any(True for rule in BODY_RULES for _ in rule.find(service))


_breaks_a_rule_cached = memoize(_breaks_a_rule, size=BODY_CACHE_SIZE)
"""Most datacenters of a fleet have the same few bodies, and most bodies are valid."""


def _invalid_fields(
    rule: ServiceRule, service: BootstrapService, path: str
) -> Iterator[InvalidField]:
    yield from ((_join(path, field), value) for field, value in rule.find(service))


def _body_rules(
    path: str, of: Callable[[Kind], Iterable[tuple[str, BootstrapService]]]
) -> Iterator[RuleOf[Kind]]:
    """Return the rules of the services that `of` finds in an object, at `path` of its schema."""

    def rule_at_body(rule: ServiceRule) -> RuleOf[Kind]:
        def find_invalid_fields(new: Kind, old: Kind | None) -> Iterator[InvalidField]:
            for location, service in of(new):
                yield from _invalid_fields(rule, service, location)

        return RuleOf(
            id=f"service-{rule.id}",
            at=_join(path, rule.at),
            field=_join(path, rule.field),
            message=rule.message,
            find_invalid_fields=find_invalid_fields,
            cel=rule.cel,
            got=rule.got,
            reason=rule.reason,
        )

    return map(rule_at_body, BODY_RULES)


# --- lists --------------------------------------------------------------------------------------


def _cycle(services: Services) -> tuple[str, ...] | None:
    """Return a cycle of two or more; another rule rejects a service that depends on itself."""
    graph = dependencies.dependencies(services)
    return dependencies.find_cycle(
        {name: [other for other in needed if other != name] for name, needed in graph.items()}
    )


def _cycles(path: str, services: Services) -> Iterator[InvalidField]:
    cycle = _cycle(services)
    if cycle is not None:
        yield path, " -> ".join(cycle)


_NEEDS = (
    "({1}.name in {0}.dependsOn || "
    f"({{1}}.kind == 'OpenBaoCluster' && '{names.OPENBAO_READY}' in {{0}}.dependsOn))"
)


def _list_rules(path: str, of: Callable[[Kind], Services]) -> tuple[RuleOf[Kind], ...]:
    return (
        RuleOf(
            id="services-unique",
            at=path,
            field=path,
            message=UNIQUE_MESSAGE,
            find_invalid_fields=lambda new, old: unique_names(path, of(new)),
        ),
        RuleOf(
            id="services-circle",
            at=path,
            field=path,
            message=CYCLE_MESSAGE,
            find_invalid_fields=lambda new, old: _cycles(path, of(new)),
            # Cycles of two only: CEL cannot traverse a graph.
            cel=(
                "self.all(p, !has(p.dependsOn) || self.all(q, !has(q.dependsOn) || "
                f"p.name == q.name || !({_NEEDS.format('p', 'q')} && {_NEEDS.format('q', 'p')})))"
            ),
        ),
    )


def _services_with_paths(
    path: str, of: Callable[[Kind], Services]
) -> Callable[[Kind], Iterator[tuple[str, BootstrapService]]]:
    return lambda new: ((f"{path}[{at}]", service) for at, service in enumerate(of(new)))


# --- the three kinds ----------------------------------------------------------------------------


def _declared_services(datacenter: Datacenter) -> Services:
    return datacenter.spec.bootstrap_services or ()


def _set_services(services: BootstrapServiceSet) -> Services:
    return services.spec.services


def _datacenter_name(new: Datacenter, old: Datacenter | None) -> Iterator[InvalidField]:
    name = new.metadata.name
    if len(name) > DATACENTER_NAME_MAX or not _NAME.found_in(name):
        yield "metadata.name", name


def _namespace_changed(new: Datacenter, old: Datacenter | None) -> Iterator[InvalidField]:
    if old is not None and new.spec.namespace != old.spec.namespace:
        yield _NAMESPACE, new.spec.namespace


def _system_namespace(new: Datacenter, old: Datacenter | None) -> Iterator[InvalidField]:
    if new.spec.namespace.startswith(SYSTEM_PREFIX):
        yield _NAMESPACE, new.spec.namespace


def _operator_kinds(new: Datacenter, old: Datacenter | None) -> Iterator[InvalidField]:
    for at, kind in enumerate(new.spec.object_kinds):
        if kind.group == GROUP:
            yield f"{_OBJECT_KINDS}[{at}].group", kind.group


def _workload_name(new: BootstrapWorkload, old: BootstrapWorkload | None) -> Iterator[InvalidField]:
    if new.metadata.name != names.workload_name(new.spec.datacenter, new.spec.service.name):
        yield "metadata.name", new.metadata.name


_OWN_RULES: tuple[RuleOf[Datacenter], ...] = (
    RuleOf(
        id="datacenter-name",
        at="",
        field="metadata.name",
        message=(
            f"metadata.name must be at most {DATACENTER_NAME_MAX} lower-case letters, digits and "
            "hyphens and begin with a letter, because names of Services contain it; create the "
            "Datacenter with another name"
        ),
        find_invalid_fields=_datacenter_name,
        cel=(
            f"size(self.metadata.name) <= {DATACENTER_NAME_MAX} && "
            f"{_NAME.cel('self.metadata.name')}"
        ),
        got="self.metadata.name",
    ),
    RuleOf(
        id="datacenter-namespace-fixed",
        at=_NAMESPACE,
        field=_NAMESPACE,
        message=(
            "is immutable, because services stay in the namespace where they were created; create "
            "another Datacenter and delete this one"
        ),
        find_invalid_fields=_namespace_changed,
        cel="self == oldSelf",
        got="self + ' after ' + oldSelf",
        reason=FORBIDDEN,
    ),
    RuleOf(
        id="datacenter-namespace-system",
        at=_NAMESPACE,
        field=_NAMESPACE,
        message=SYSTEM_MESSAGE.replace("tenants", "shared services"),
        find_invalid_fields=_system_namespace,
        cel=f"!self.startsWith('{SYSTEM_PREFIX}')",
        got="self",
        reason=FORBIDDEN,
    ),
    RuleOf(
        id="datacenter-object-kinds",
        at=f"{_OBJECT_KINDS}[]",
        field=f"{_OBJECT_KINDS}[].group",
        message=(
            f"must not be {GROUP}, whose kinds configure the operator; remove it, and create "
            "objects of these kinds yourself"
        ),
        find_invalid_fields=_operator_kinds,
        cel=f"self.group != '{GROUP}'",
        got="self.group",
        reason=FORBIDDEN,
    ),
    *_list_rules(_DECLARED_PATH, _declared_services),
)
"""Rules of a datacenter, except those of the bodies of its services."""
DATACENTER_RULES: tuple[RuleOf[Datacenter], ...] = (
    *_OWN_RULES,
    *_body_rules(f"{_DECLARED_PATH}[]", _services_with_paths(_DECLARED_PATH, _declared_services)),
)
SET_RULES: tuple[RuleOf[BootstrapServiceSet], ...] = (
    *_list_rules(_SET_PATH, _set_services),
    *_body_rules(f"{_SET_PATH}[]", _services_with_paths(_SET_PATH, _set_services)),
)
WORKLOAD_RULES: tuple[RuleOf[BootstrapWorkload], ...] = (
    RuleOf(
        id="workload-name",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must be <spec.datacenter>.<spec.service.name>, because a service has "
            "one BootstrapWorkload; leave these objects to the operator"
        ),
        find_invalid_fields=_workload_name,
        cel="self.metadata.name == self.spec.datacenter + '.' + self.spec.service.name",
        got="self.metadata.name",
    ),
    *_body_rules(_WORKLOAD_PATH, lambda workload: ((_WORKLOAD_PATH, workload.spec.service),)),
)


def datacenter_violations(
    datacenter: Datacenter, old: Datacenter | None = None
) -> tuple[Violation, ...]:
    """Return the violations of a datacenter, in the order of the rules.

    `old` is the object before the update; without it rules about changes do not apply.
    """
    name = datacenter.metadata.name
    services = _services_with_paths(_DECLARED_PATH, _declared_services)(datacenter)
    # Nine of ten rules are about bodies, whose result is cached.
    valid = not any(map(_breaks_a_rule_cached, _declared_services(datacenter)))
    return (
        *broken_rules(_OWN_RULES if valid else DATACENTER_RULES, datacenter, old),
        *(
            violation
            for path, service in services
            for violation in openbao_violations(service, path, name)
        ),
    )


def set_violations(services: BootstrapServiceSet) -> tuple[Violation, ...]:
    """Return the violations of a set, in the order of the rules."""
    return (
        *broken_rules(SET_RULES, services, None),
        *(
            violation
            for path, service in _services_with_paths(_SET_PATH, _set_services)(services)
            for violation in openbao_violations(service, path)
        ),
    )


def workload_violations(workload: BootstrapWorkload) -> tuple[Violation, ...]:
    """Return the violations of a workload, in the order of the rules."""
    return (
        *broken_rules(WORKLOAD_RULES, workload, None),
        *openbao_violations(workload.spec.service, _WORKLOAD_PATH, workload.spec.datacenter),
    )


# --- services without an object around them -----------------------------------------------------


def check_service(service: BootstrapService, path: str, datacenter: str = "") -> list[Violation]:
    """Return the violations of one service at `path`.

    `datacenter` is the name of its datacenter; without it the spec of an OpenBaoCluster must not
    depend on the name of the cluster.
    """
    violations = [
        Violation(field, format_value(value), f"service-{rule.id}", rule.message)
        for rule in (BODY_RULES if _breaks_a_rule_cached(service) else ())
        for field, value in _invalid_fields(rule, service, path)
    ]
    return [*violations, *openbao_violations(service, path, datacenter)]


def check_services(services: Services, path: str, datacenter: str = "") -> list[Violation]:
    """Return the violations of a list of services at `path`, and of each; see check_service."""
    checks = (
        ("services-unique", UNIQUE_MESSAGE, unique_names(path, services)),
        ("services-circle", CYCLE_MESSAGE, _cycles(path, services)),
    )
    return [
        *(
            Violation(field, format_value(value), rule, message)
            for rule, message, fields in checks
            for field, value in fields
        ),
        *(
            violation
            for at, service in enumerate(services)
            for violation in check_service(service, f"{path}[{at}]", datacenter)
        ),
    ]


def read_service(raw: Raw, path: str, datacenter: str = "") -> BootstrapService:
    """Parse and validate one service at `path`; field names may be camelCase or snake_case.

    Raises InvalidDatacenterError with a Violation per field that is unknown, invalid or breaks a
    rule. For `datacenter` see `check_service`.
    """
    service = parse_service(raw, path)
    _raise_violations(check_service(service, path, datacenter))
    return service


class ValidatedServices(tuple[BootstrapService, ...]):
    """Services that passed validation; a caller that keeps them need not repeat it."""

    __slots__ = ()


def read_services(raw: Iterable[Raw] | None, path: str, datacenter: str = "") -> ValidatedServices:
    """Parse and validate a list of services at `path`; None is an empty one.

    Raises InvalidDatacenterError as `read_service` does, with the violations of the whole list. Of
    ValidatedServices, only the rules that depend on the datacenter are checked again.
    """
    if isinstance(raw, ValidatedServices):
        _raise_violations(_name_violations(raw, path, datacenter))
        return raw
    services: list[BootstrapService] = []
    violations: list[Violation] = []
    for at, item in enumerate(service_list(raw, path)):
        try:
            services.append(parse_service(item, f"{path}[{at}]"))
        except InvalidDatacenterError as error:
            violations.extend(error.violations)
    _raise_violations(violations or check_services(services, path, datacenter))
    return ValidatedServices(services)


def _name_violations(services: ValidatedServices, path: str, datacenter: str) -> list[Violation]:
    return [
        violation
        for at, service in enumerate(services)
        for violation in openbao_violations(service, f"{path}[{at}]", datacenter)
    ]


def _raise_violations(violations: list[Violation]) -> None:
    if violations:
        raise InvalidDatacenterError(violations)
