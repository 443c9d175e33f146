"""Reasons and condition types: the managers use those of the catalog, and all of them.

Uses contracts.conditions.catalog, and the reasons of tenants, backups, restores and datacenters.
A reason that the catalog does not allow for a condition raises an error in a reconcile; these
rules find it in the source.
"""

import ast
from collections.abc import Iterable, Iterator

from contracts.conditions.catalog import TYPES
from contracts.conditions.reasons_backup import RUN_REASONS
from contracts.conditions.reasons_restore import RESTORE_REASONS
from contracts.conditions.reasons_tenant import TENANT_REASONS
from contracts.datacenter.reasons import DATACENTER_REASONS
from tests.house.checkout import Source
from tests.house.rule import Rule, below

_ALLOWED = {kind.name: frozenset(kind.reasons) for kind in TYPES}
# The conditions that managers.cluster.status.conditions sets with the reason of an outcome.
_ENDS_IN = {
    "wait": ("Ready", "Reconciling"),
    "blocked": ("Ready", "Stalled", "Degraded"),
}
# Modules whose reasons are in the status of a backup or restore, which have their own reasons.
_OF_RUNS = {"managers/backup/": RUN_REASONS, "managers/restore/": RESTORE_REASONS}
# Reasons of tenants; those of the gate are reasons of clusters.
_OF_TENANTS = "managers/tenancy/"
_OF_CLUSTERS = f"{_OF_TENANTS}gate.py"
# A condition there is about a Datacenter; the outcome of a reconcile is only logged.
_OF_DATACENTERS = "managers/datacenter/"


def outcome_reason(source: Source) -> Iterator[str]:
    """A `Wait` or `Blocked`, or a function of that name that returns one."""
    for call in _calls(source.nodes):
        word = _called(call).lower().strip("_")
        reason = _text(_argument(call, 0, "reason"))
        if word not in _ENDS_IN or reason is None or is_about_another_kind(source.path):
            continue
        own = next((kind for at, kind in _OF_RUNS.items() if source.path.startswith(at)), None)
        if own is not None:
            if reason not in own:
                yield f"line {call.lineno}: {reason} is not a reason of that kind"
            continue
        missing = [kind for kind in _ENDS_IN[word] if reason not in _ALLOWED[kind]]
        if missing:
            yield f"line {call.lineno}: {reason} is not a reason of {', '.join(missing)}"


def is_about_tenants(path: str) -> bool:
    """Whether the reasons of a module are those of a tenant."""
    return path.startswith(_OF_TENANTS) and path != _OF_CLUSTERS


def is_about_datacenters(path: str) -> bool:
    """Whether the conditions of a module are those of a datacenter."""
    return path.startswith(_OF_DATACENTERS)


def is_about_another_kind(path: str) -> bool:
    """Whether the reasons of a module are not those of a cluster."""
    return is_about_tenants(path) or is_about_datacenters(path)


def tenant_reason(source: Source) -> Iterator[str]:
    """An outcome or a condition of a tenant, by a string or by a constant of the module."""
    if not is_about_tenants(source.path):
        return
    named = dict(_constants_of_module(source))
    for call in _calls(source.nodes):
        word = _called(call).lower().strip("_")
        position = 1 if word == "provisionedcondition" else 0
        reason = _text(_argument(call, position, "reason"), named)
        known = (*_ENDS_IN, "provisionedcondition")
        if word in known and reason is not None and reason not in TENANT_REASONS:
            yield f"line {call.lineno}: {reason} is not a reason of a tenant"


def datacenter_reason(source: Source) -> Iterator[str]:
    """A condition of a datacenter: its status is the first argument, and it has no type."""
    if not is_about_datacenters(source.path):
        return
    for call in _calls(source.nodes):
        reason = _text(_argument(call, 1, "reason"))
        if _called(call) == "DatacenterCondition" and reason not in (None, *DATACENTER_REASONS):
            yield f"line {call.lineno}: {reason} is not a reason of a datacenter"


def finding_reason(source: Source) -> Iterator[str]:
    """A `ConditionUpdate` has an existing type, and a reason that the type allows."""
    if is_about_datacenters(source.path):
        return
    for line, kind, reason in findings(source):
        if kind not in _ALLOWED:
            yield f"line {line}: there is no condition {kind}"
        elif reason is not None and reason not in _ALLOWED[kind]:
            yield f"line {line}: {reason} is not a reason of {kind}"


def findings(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Line, type and reason of each ConditionUpdate; the reason is None if it is computed."""
    for function in source.nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            local = _constants(function)
            for call in _calls(ast.walk(function)):
                kind = _text(_argument(call, 0, "type"), local)
                if _called(call) == "ConditionUpdate" and kind is not None:
                    yield call.lineno, kind, _text(_argument(call, 2, "reason"), local)


def unstated_types(sources: Iterable[Source]) -> list[str]:
    """Condition types of the catalog that no ConditionUpdate has.

    A type may be named by a constant of a module, which another one may import.
    """
    read = list(sources)
    stated = {kind for source in read for _, kind, _ in findings(source)}
    if any(_states_by_constant(source) for source in read):
        stated |= {text for source in read for _, text in _constants_of_module(source)}
    return sorted(_ALLOWED.keys() - stated)


def _states_by_constant(source: Source) -> bool:
    return any(
        _called(call) == "ConditionUpdate" and isinstance(_argument(call, 0, "type"), ast.Name)
        for call in _calls(source.nodes)
    )


def _constants_of_module(source: Source) -> Iterator[tuple[str, str]]:
    """Constants of a module that are a string."""
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                text = _text(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                text = _text(value)
            case _:
                continue
        if text is not None:
            yield name, text


def unused_reasons(sources: Iterable[Source], catalog: Iterable[str]) -> list[str]:
    """Reasons of a catalog that no string in the code is equal to."""
    said = {
        node.value
        for source in sources
        for node in source.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return sorted({*catalog} - said)


def _calls(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    return (node for node in nodes if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _constants(function: ast.AST) -> dict[str, str]:
    """Local names that are assigned one string."""
    constants = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for target, value in _pairs(node.targets[0], node.value):
                text = _text(value)
                if text is not None and isinstance(target, ast.Name):
                    constants[target.id] = text
    return constants


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            yield from zip(names, values, strict=True)
        case _:
            yield target, value


def _text(node: ast.expr | None, local: dict[str, str] | None = None) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            return (local or {}).get(name)
        case _:
            return None


def _in_a_function(line: str) -> str:
    return f"def f():\n    kind = 'Available'\n    return {line}\n"


_PLAN = "managers/x/plan.py"
_TENANTS = f"{_OF_TENANTS}run.py"
_DATACENTERS = f"{_OF_DATACENTERS}status.py"

RULES = (
    Rule(
        "a reason of an outcome is in the catalog",
        outcome_reason,
        below("managers"),
        invalid=(
            Source(_PLAN, "Wait('Thinking', 'slow')"),
            Source(_PLAN, "Blocked(reason='Undecided', message='x')"),
            Source(_PLAN, "_blocked('Undecided', 'x')"),
            # In the catalog, but not for these conditions.
            Source(_PLAN, "Blocked('StaticUnsealInUse', 'x')"),
        ),
        valid=(
            Source(_PLAN, "Blocked('ForeignObject', 'x')"),
            Source(_PLAN, "Wait(reason, 'computed elsewhere')"),
            # In the other catalog: see the next rule.
            Source(_TENANTS, "Wait('Thinking', 'slow')"),
        ),
    ),
    Rule(
        "a reason of a tenant is in its catalog",
        tenant_reason,
        below("managers"),
        invalid=(
            Source(_TENANTS, "Wait('Thinking', 'slow')"),
            Source(_TENANTS, "Blocked(reason='QuorumLost', message='x')"),
            Source(_TENANTS, "ProvisionedCondition(True, 'Splendid')"),
            Source(_TENANTS, "WHY: Final = 'Undecided'\nBlocked(WHY, 'x')"),
        ),
        valid=(
            Source(_TENANTS, "Wait('NamespaceNotFound', 'x')"),
            Source(_TENANTS, "ProvisionedCondition(False, outcome.reason)"),
            Source(_OF_CLUSTERS, "Wait('TenantNotProvisioned', 'x')"),
        ),
    ),
    Rule(
        "a reason of a datacenter is in its catalog",
        datacenter_reason,
        below("managers"),
        invalid=(
            Source(_DATACENTERS, "DatacenterCondition('True', 'Splendid')"),
            Source(_DATACENTERS, "DatacenterCondition('False', reason='QuorumLost')"),
        ),
        valid=(
            Source(_DATACENTERS, "DatacenterCondition('True', 'AllRunning')"),
            Source(_DATACENTERS, "DatacenterCondition('False', reason, told)"),
            Source(_DATACENTERS, "Wait('WriteFailed', 'in the log')"),
            Source(_TENANTS, "ProvisionedCondition('True', 'Provisioned')"),
        ),
    ),
    Rule(
        "a condition has a type and a reason of the catalog",
        finding_reason,
        below("managers"),
        invalid=(
            Source(_PLAN, _in_a_function("ConditionUpdate('Splendid', 'True', 'Ready', '')")),
            Source(_PLAN, _in_a_function("ConditionUpdate('Available', 'True', 'Sealed', '')")),
            Source(_PLAN, _in_a_function("ConditionUpdate(kind, 'True', reason='Sealed')")),
        ),
        valid=(
            Source(_PLAN, _in_a_function("ConditionUpdate(kind, 'True', 'AllReplicasReady', '')")),
            Source(_PLAN, _in_a_function("ConditionUpdate(kind, 'True', outcome.reason, '')")),
            # See the rule before.
            Source(_DATACENTERS, _in_a_function("DatacenterCondition('True', 'AllRunning', '')")),
        ),
    ),
)
