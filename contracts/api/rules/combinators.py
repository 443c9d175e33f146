"""How a rule of profile Hardened is made of a rule without a profile.

Uses contracts.api.rules.rule. Called by contracts.api.rules.hardened_*.
"""

from collections.abc import Callable, Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, CelReason, Offence, Rule, either, is_set
from contracts.api.values.field_path import value_at

Find = Callable[[OpenBaoCluster], Iterator[Offence]]
OFF = "!has(self.profile) || self.profile != 'Hardened' || "
"""CEL at spec: the profile is another one, or."""


def when_hardened(find: Find) -> Broken:
    """The offences of a cluster whose profile is Hardened."""

    def broken(new: OpenBaoCluster, old: OpenBaoCluster | None) -> Iterator[Offence]:
        if new.spec.profile == "Hardened":
            yield from find(new)

    return broken


def hardened(what: str, field: str, message: str, find: Find, cel: str, reason: CelReason) -> Rule:
    """A rule at spec with the id hardened-<what>; `cel` is what must hold in the profile."""
    return Rule(
        id=f"hardened-{what}",
        at="spec",
        field=field,
        message=message,
        broken=when_hardened(find),
        cel=f"{OFF}({cel})",
        reason=reason,
    )


def absent(what: str, field: str, message: str) -> Rule:
    """A rule that a field must not be set at all; its value is never shown, for it is a secret."""

    def find(cluster: OpenBaoCluster) -> Iterator[Offence]:
        if value_at(cluster.spec, field) is not None:
            yield f"spec.{field}", None

    return hardened(
        what, f"spec.{field}", message, find, f"!{is_set(field)}", "FieldValueForbidden"
    )


def false(what: str, field: str, message: str) -> Rule:
    """A rule that a switch must not be on."""

    def find(cluster: OpenBaoCluster) -> Iterator[Offence]:
        if value_at(cluster.spec, field):
            yield f"spec.{field}", True

    cel = f"!{either(field, 'false')}"
    return hardened(what, f"spec.{field}", message, find, cel, "FieldValueForbidden")


def true(what: str, field: str, message: str) -> Rule:
    """A rule that a switch must not be off, where it is set."""

    def find(cluster: OpenBaoCluster) -> Iterator[Offence]:
        if value_at(cluster.spec, field) is False:
            yield f"spec.{field}", False

    return hardened(
        what, f"spec.{field}", message, find, either(field, "true"), "FieldValueInvalid"
    )


def other_than(what: str, field: str, bad: str, message: str) -> Rule:
    """A rule that a text must not have one value."""

    def find(cluster: OpenBaoCluster) -> Iterator[Offence]:
        if value_at(cluster.spec, field) == bad:
            yield f"spec.{field}", bad

    cel = f"{either(field, _NOTHING)} != '{bad}'"
    return hardened(what, f"spec.{field}", message, find, cel, "FieldValueForbidden")


_NOTHING = "''"
