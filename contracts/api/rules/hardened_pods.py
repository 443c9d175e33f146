"""What profile Hardened refuses about the confinement of the pods.

Uses contracts.api.rules.combinators. Collected by contracts.api.rules.hardened.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules import combinators
from contracts.api.rules.rule import Rule, either, is_set
from contracts.api.values.field_path import value_at

_IN = "in profile Hardened"
_CONTEXT = "securityContext"


def _not_root(what: str, name: str) -> Rule:
    field = f"{_CONTEXT}.{name}"

    def find(cluster: OpenBaoCluster) -> Iterator[tuple[str, object]]:
        if value_at(cluster.spec, field) == 0:
            yield f"spec.{field}", 0

    return combinators.hardened(
        what,
        f"spec.{field}",
        f"must not be 0 {_IN}: that is root; choose another id or remove it",
        find,
        f"{either(field, '1')} != 0",
        "FieldValueForbidden",
    )


def _sysctls(cluster: OpenBaoCluster) -> Iterator[tuple[str, object]]:
    if value_at(cluster.spec, f"{_CONTEXT}.sysctls"):
        yield f"spec.{_CONTEXT}.sysctls", None


def _unconfined(what: str, profile: str) -> Rule:
    return combinators.other_than(
        what,
        f"{_CONTEXT}.{profile}.type",
        "Unconfined",
        f"must not be Unconfined {_IN}; use RuntimeDefault or remove it",
    )


POD_RULES: tuple[Rule, ...] = (
    _not_root("user", "runAsUser"),
    _not_root("group", "runAsGroup"),
    combinators.true(
        "non-root",
        f"{_CONTEXT}.runAsNonRoot",
        f"must not be false {_IN}, because the server needs no root; remove it",
    ),
    combinators.hardened(
        "sysctls",
        f"spec.{_CONTEXT}.sysctls",
        f"must be empty {_IN}, because they change the kernel; remove them",
        _sysctls,
        f"!{is_set(f'{_CONTEXT}.sysctls')} || self.{_CONTEXT}.sysctls.size() == 0",
        "FieldValueForbidden",
    ),
    combinators.absent(
        "windows",
        f"{_CONTEXT}.windowsOptions",
        f"must not be set {_IN}, because servers run on Linux; remove it",
    ),
    _unconfined("seccomp", "seccompProfile"),
    _unconfined("apparmor", "appArmorProfile"),
)
