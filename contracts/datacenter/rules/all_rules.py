"""Every rule about datacenters, sets and workloads that goes beyond the shape of one field.

Uses the rule modules of this package. Called by contracts.datacenter.schema, which writes the rules
into the CRDs, and by managers.datacenter, which checks again what the API server checked: an object
may be older than a rule, the API server never validates the result of a hook, and CEL cannot
express all of it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from contracts.api.group import GROUP
from contracts.api.rules.rule import Offence, RuleOf, broken_rules
from contracts.api.schema.tenant import SYSTEM_MESSAGE, SYSTEM_PREFIX
from contracts.api.values.pattern import Pattern
from contracts.api.violation import Violation, shown
from contracts.datacenter import dependencies, names
from contracts.datacenter.container_files import NAME_PATTERN
from contracts.datacenter.objects import BootstrapServiceSet, Datacenter, InvalidDatacenterError
from contracts.datacenter.rules.container import PART_RULES
from contracts.datacenter.rules.files import FILE_RULES
from contracts.datacenter.rules.hook_results import Raw, listed, shaped
from contracts.datacenter.rules.labels import LABEL_RULES
from contracts.datacenter.rules.objects import OBJECT_RULES
from contracts.datacenter.rules.openbao import openbao_violations
from contracts.datacenter.rules.service import FORBIDDEN, SERVICE_RULES, ServiceRule
from contracts.datacenter.rules.unique import UNIQUE_RULES, unique_names
from contracts.datacenter.service_spec import BODIES, OPENBAO_READY, BootstrapService
from contracts.datacenter.workload import BootstrapWorkload
from runtime.memo import memoize

Kind = TypeVar("Kind")
Services: TypeAlias = Sequence[BootstrapService]

BODY_RULES: tuple[ServiceRule, ...] = (
    *SERVICE_RULES,
    *PART_RULES,
    *FILE_RULES,
    *LABEL_RULES,
    *UNIQUE_RULES,
    *OBJECT_RULES,
)
"""What holds of every service, in any object."""
DATACENTER_NAME_MAX = 63
_NAME = Pattern(NAME_PATTERN)
_NAMESPACE = "spec.namespace"
_DECLARED = "spec.bootstrapServices"
_OBJECT_KINDS = "spec.objectKinds"
_OF_SET = "spec.services"
_OF_WORKLOAD = "spec.service"

UNIQUE_MESSAGE = "must name each service once; rename one or remove it"
CIRCLE_MESSAGE = (
    "must not depend on each other in a circle, or none of them would ever be made; remove one of "
    "the dependsOn"
)


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}".strip(".") if field else path


def _offends(service: BootstrapService) -> bool:
    return any(True for rule in BODY_RULES for _ in rule.find(service))


_ever_offends = memoize(_offends, size=BODIES)
"""A fleet asks about the same few bodies again and again, and there is nothing to tell of most."""


def _offences(rule: ServiceRule, service: BootstrapService, path: str) -> Iterator[Offence]:
    yield from ((_joined(path, field), value) for field, value in rule.find(service))


def _body_rules(
    path: str, of: Callable[[Kind], Iterable[tuple[str, BootstrapService]]]
) -> Iterator[RuleOf[Kind]]:
    """The rules about the services that `of` finds in an object, at `path` of its schema."""

    def placed(rule: ServiceRule) -> RuleOf[Kind]:
        def broken(new: Kind, old: Kind | None) -> Iterator[Offence]:
            for location, service in of(new):
                yield from _offences(rule, service, location)

        return RuleOf(
            id=f"service-{rule.id}",
            at=_joined(path, rule.at),
            field=_joined(path, rule.field),
            message=rule.message,
            broken=broken,
            cel=rule.cel,
            got=rule.got,
            reason=rule.reason,
        )

    return map(placed, BODY_RULES)


# --- lists --------------------------------------------------------------------------------------


def _circle(services: Services) -> tuple[str, ...] | None:
    """A cycle of two or more; another rule refuses a service that depends on itself."""
    graph = dependencies.dependencies(services)
    return dependencies.find_cycle(
        {name: [other for other in needed if other != name] for name, needed in graph.items()}
    )


def _circles(path: str, services: Services) -> Iterator[Offence]:
    cycle = _circle(services)
    if cycle is not None:
        yield path, " -> ".join(cycle)


_WAITS = (
    "({1}.name in {0}.dependsOn || "
    f"({{1}}.kind == 'OpenBaoCluster' && '{OPENBAO_READY}' in {{0}}.dependsOn))"
)


def _list_rules(path: str, of: Callable[[Kind], Services]) -> tuple[RuleOf[Kind], ...]:
    return (
        RuleOf(
            id="services-unique",
            at=path,
            field=path,
            message=UNIQUE_MESSAGE,
            broken=lambda new, old: unique_names(path, of(new)),
        ),
        RuleOf(
            id="services-circle",
            at=path,
            field=path,
            message=CIRCLE_MESSAGE,
            broken=lambda new, old: _circles(path, of(new)),
            # No more than two of them: CEL knows no way along a graph.
            cel=(
                "self.all(p, !has(p.dependsOn) || self.all(q, !has(q.dependsOn) || "
                f"p.name == q.name || !({_WAITS.format('p', 'q')} && {_WAITS.format('q', 'p')})))"
            ),
        ),
    )


def _listed(
    path: str, of: Callable[[Kind], Services]
) -> Callable[[Kind], Iterator[tuple[str, BootstrapService]]]:
    return lambda new: ((f"{path}[{at}]", service) for at, service in enumerate(of(new)))


# --- the three kinds ----------------------------------------------------------------------------


def _declared(datacenter: Datacenter) -> Services:
    return datacenter.spec.bootstrap_services or ()


def _of_set(services: BootstrapServiceSet) -> Services:
    return services.spec.services


def _datacenter_name(new: Datacenter, old: Datacenter | None) -> Iterator[Offence]:
    name = new.metadata.name
    if len(name) > DATACENTER_NAME_MAX or not _NAME.found_in(name):
        yield "metadata.name", name


def _moved(new: Datacenter, old: Datacenter | None) -> Iterator[Offence]:
    if old is not None and new.spec.namespace != old.spec.namespace:
        yield _NAMESPACE, new.spec.namespace


def _of_system(new: Datacenter, old: Datacenter | None) -> Iterator[Offence]:
    if new.spec.namespace.startswith(SYSTEM_PREFIX):
        yield _NAMESPACE, new.spec.namespace


def _own_kinds(new: Datacenter, old: Datacenter | None) -> Iterator[Offence]:
    for at, one in enumerate(new.spec.object_kinds):
        if one.group == GROUP:
            yield f"{_OBJECT_KINDS}[{at}].group", one.group


def _workload_name(new: BootstrapWorkload, old: BootstrapWorkload | None) -> Iterator[Offence]:
    if new.metadata.name != names.workload_name(new.spec.datacenter, new.spec.service.name):
        yield "metadata.name", new.metadata.name


_PLACE_RULES: tuple[RuleOf[Datacenter], ...] = (
    RuleOf(
        id="datacenter-name",
        at="",
        field="metadata.name",
        message=(
            f"metadata.name must be at most {DATACENTER_NAME_MAX} lower-case letters, digits and "
            "hyphens and begin with a letter, because names of Services are made of it; make the "
            "Datacenter under another name"
        ),
        broken=_datacenter_name,
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
            "must stay as it is, because the services stay where they were made; make another "
            "Datacenter and delete this one"
        ),
        broken=_moved,
        cel="self == oldSelf",
        got="self + ' after ' + oldSelf",
        reason=FORBIDDEN,
    ),
    RuleOf(
        id="datacenter-namespace-system",
        at=_NAMESPACE,
        field=_NAMESPACE,
        message=SYSTEM_MESSAGE.replace("tenants", "shared services"),
        broken=_of_system,
        cel=f"!self.startsWith('{SYSTEM_PREFIX}')",
        got="self",
        reason=FORBIDDEN,
    ),
    RuleOf(
        id="datacenter-object-kinds",
        at=f"{_OBJECT_KINDS}[]",
        field=f"{_OBJECT_KINDS}[].group",
        message=(
            f"must not be {GROUP}, whose kinds say what the operator does; remove it, and write "
            "objects of these kinds yourself"
        ),
        broken=_own_kinds,
        cel=f"self.group != '{GROUP}'",
        got="self.group",
        reason=FORBIDDEN,
    ),
    *_list_rules(_DECLARED, _declared),
)
"""What holds of a datacenter besides the bodies of its services."""
DATACENTER_RULES: tuple[RuleOf[Datacenter], ...] = (
    *_PLACE_RULES,
    *_body_rules(f"{_DECLARED}[]", _listed(_DECLARED, _declared)),
)
SET_RULES: tuple[RuleOf[BootstrapServiceSet], ...] = (
    *_list_rules(_OF_SET, _of_set),
    *_body_rules(f"{_OF_SET}[]", _listed(_OF_SET, _of_set)),
)
WORKLOAD_RULES: tuple[RuleOf[BootstrapWorkload], ...] = (
    RuleOf(
        id="workload-name",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must be <spec.datacenter>.<spec.service.name>, because a service has "
            "one row; leave these objects to the operator"
        ),
        broken=_workload_name,
        cel="self.metadata.name == self.spec.datacenter + '.' + self.spec.service.name",
        got="self.metadata.name",
    ),
    *_body_rules(_OF_WORKLOAD, lambda workload: ((_OF_WORKLOAD, workload.spec.service),)),
)


def datacenter_violations(
    datacenter: Datacenter, old: Datacenter | None = None
) -> tuple[Violation, ...]:
    """What is wrong with a datacenter, in the order of the rules; empty when nothing is.

    `old` is the object before the update; without it the rule about changes says nothing.
    """
    name = datacenter.metadata.name
    services = _listed(_DECLARED, _declared)(datacenter)
    # Nine of ten rules are about bodies, and a fleet has the same few.
    sound = not any(map(_ever_offends, _declared(datacenter)))
    return (
        *broken_rules(_PLACE_RULES if sound else DATACENTER_RULES, datacenter, old),
        *(one for path, service in services for one in openbao_violations(service, path, name)),
    )


def set_violations(services: BootstrapServiceSet) -> tuple[Violation, ...]:
    """What is wrong with a set, in the order of the rules; empty when nothing is."""
    return (
        *broken_rules(SET_RULES, services, None),
        *(
            one
            for path, service in _listed(_OF_SET, _of_set)(services)
            for one in openbao_violations(service, path)
        ),
    )


def workload_violations(workload: BootstrapWorkload) -> tuple[Violation, ...]:
    """What is wrong with a workload, in the order of the rules; empty when nothing is."""
    return (
        *broken_rules(WORKLOAD_RULES, workload, None),
        *openbao_violations(workload.spec.service, _OF_WORKLOAD, workload.spec.datacenter),
    )


# --- services without an object around them -----------------------------------------------------


def check_service(service: BootstrapService, path: str, datacenter: str = "") -> list[Violation]:
    """What is wrong with one service at `path`; empty when nothing is.

    `datacenter` is the name of the one that it is for; without it nothing about an OpenBaoCluster
    may depend on the name of the cluster.
    """
    violations = [
        Violation(field, shown(value), f"service-{rule.id}", rule.message)
        for rule in (BODY_RULES if _ever_offends(service) else ())
        for field, value in _offences(rule, service, path)
    ]
    return [*violations, *openbao_violations(service, path, datacenter)]


def check_services(services: Services, path: str, datacenter: str = "") -> list[Violation]:
    """What is wrong with a list of services at `path`, and with each of them; see check_service."""
    checks = (
        ("services-unique", UNIQUE_MESSAGE, unique_names(path, services)),
        ("services-circle", CIRCLE_MESSAGE, _circles(path, services)),
    )
    return [
        *(
            Violation(field, shown(value), rule, message)
            for rule, message, offences in checks
            for field, value in offences
        ),
        *(
            one
            for at, service in enumerate(services)
            for one in check_service(service, f"{path}[{at}]", datacenter)
        ),
    ]


def read_service(raw: Raw, path: str, datacenter: str = "") -> BootstrapService:
    """Read one service at `path` and judge it; field names may be camelCase or snake_case.

    Raises InvalidDatacenterError with a Violation per field that is unknown, unreadable or against
    a rule. For `datacenter` see `check_service`.
    """
    service = shaped(raw, path)
    _refuse(check_service(service, path, datacenter))
    return service


class Judged(tuple[BootstrapService, ...]):
    """Services that were read and validated; a caller that keeps them need not repeat it."""

    __slots__ = ()


def read_services(raw: Iterable[Raw] | None, path: str, datacenter: str = "") -> Judged:
    """Read a list of services at `path` and judge it; None is an empty one.

    Raises InvalidDatacenterError as `read_service` does, with what is wrong in all of the list. Of
    what is Judged, only that is judged again which depends on the datacenter.
    """
    if isinstance(raw, Judged):
        _refuse(_named_wrong(raw, path, datacenter))
        return raw
    services: list[BootstrapService] = []
    violations: list[Violation] = []
    for at, item in enumerate(listed(raw, path)):
        try:
            services.append(shaped(item, f"{path}[{at}]"))
        except InvalidDatacenterError as error:
            violations.extend(error.violations)
    _refuse(violations or check_services(services, path, datacenter))
    return Judged(services)


def _named_wrong(services: Judged, path: str, datacenter: str) -> list[Violation]:
    return [
        one
        for at, service in enumerate(services)
        for one in openbao_violations(service, f"{path}[{at}]", datacenter)
    ]


def _refuse(violations: list[Violation]) -> None:
    if violations:
        raise InvalidDatacenterError(violations)
