"""Functions that declare a rule once, for the API server (CEL) and for the operator (Python).

Uses contracts.api.rules.checks and contracts.api.values.field_path. Called by the rule modules of
this package. `rule` takes a Predicate, which has both forms; or a Find, for conditions that CEL
cannot express. `invalid_fields` and `duplicates` are for the Python form of a rule that returns
several fields. `prefix_rules` moves the rules of a part of the spec to its path in an object.
`hardened` and the functions after it declare rules of profile Hardened.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypedDict, Unpack

from contracts.api.meta import ApiModel
from contracts.api.rules.checks import Predicate, Value, either, group, has, is_set, it
from contracts.api.rules.rule import FORBIDDEN, CelReason, FindInvalidFieldsOf, InvalidField, RuleOf
from contracts.api.values.field_path import joined, nodes_at, value_at, values_at

Find = Callable[[Any], Any]
"""Returns the invalid value of a node; None if it is valid."""


class More(TypedDict, total=False):
    """Optional arguments of a rule.

    `got` is the invalid value in CEL, and `shows` in Python: a path below the node, a function of
    the node, or None for no value. Without `shows`, Python returns the value of `got` if it is a
    Value, otherwise the field. `names` is the field that Python returns, where it is more exact
    than the fieldPath of CEL. `each` is a list below the node and the condition of an invalid item:
    then Python returns the field `names` of each of these items. `cel` is the CEL form of a Find.
    """

    got: Value | str
    shows: str | Find | None
    names: str
    each: tuple[str, Predicate]
    reason: CelReason
    cel: str


def rule(
    id: str, at: str, field: str, message: str, holds: Predicate | Find, **more: Unpack[More]
) -> RuleOf[Any]:
    """Return a rule about each node at a path; its error is about a field of it ("": the node).

    A Predicate with oldSelf is evaluated only for updates.
    """
    got = more.get("got", "")
    return RuleOf(
        id=id,
        at=at,
        field=joined(at, field),
        message=message,
        find_invalid_fields=_invalid_fields_of_check(at, more.get("names", field), holds, more)
        if isinstance(holds, Predicate)
        else _invalid_fields_of_find(at, field, holds),
        cel=holds.cel if isinstance(holds, Predicate) else more.get("cel", ""),
        got=str(got),
        reason=more.get("reason", "FieldValueInvalid"),
    )


def _invalid_fields_of_check(
    at: str, field: str, check: Predicate, more: More
) -> FindInvalidFieldsOf[Any]:
    got = more.get("got")
    shown = got if isinstance(got, Value) else it(field)
    if "shows" in more:
        shown = _value_of(more["shows"])
    about_changes = "oldSelf" in check.cel

    def find_invalid_fields(new: Any, old: Any) -> Iterator[InvalidField]:
        was = None
        if about_changes:
            was = value_at(old, at) if at and old is not None else old
            if was is None:
                return
        for path, node in nodes_at(new, at):
            if node is None or check.holds(node, was):
                continue
            if "each" in more:
                items, offends = more["each"]
                for place, item in values_at(node, items):
                    if offends.holds(item, None):
                        yield joined(joined(path, place), field), value_at(item, field)
            else:
                yield joined(path, field), shown.of(node, was)

    return find_invalid_fields


def _value_of(shows: str | Find | None) -> Value:
    if isinstance(shows, str):
        return it(shows)
    return Value("", lambda now, was: None if shows is None else shows(now))


def _invalid_fields_of_find(at: str, field: str, find: Find) -> FindInvalidFieldsOf[Any]:
    def find_invalid_fields(new: Any, old: Any) -> Iterator[InvalidField]:
        for path, node in nodes_at(new, at):
            value = None if node is None else find(node)
            if value is not None:
                yield joined(path, field), value

    return find_invalid_fields


def invalid_fields(
    at: str, find: Callable[[Any], Iterable[InvalidField]]
) -> FindInvalidFieldsOf[Any]:
    """Return the Python form of a rule; `find` yields invalid fields relative to each node."""

    def find_invalid_fields(new: Any, old: Any) -> Iterator[InvalidField]:
        for path, node in nodes_at(new, at):
            for field, value in find(node) if node is not None else ():
                yield joined(path, field), value

    return find_invalid_fields


def duplicates(
    model: ApiModel, *paths: str, key: Callable[[Any], Hashable] = lambda value: value
) -> Iterator[InvalidField]:
    """Yield the values at these paths whose key an earlier value has."""
    seen: set[Hashable] = set()
    for path in paths:
        for location, value in values_at(model, path):
            identity = key(value)
            if identity in seen:
                yield location, identity
            seen.add(identity)


def unique(id: str, at: str, field: str, path: str, message: str) -> RuleOf[Any]:
    """Return a rule that the values at a path below a node are unique; it has no CEL."""
    return RuleOf(
        id, at, joined(at, field), message, invalid_fields(at, lambda node: duplicates(node, path))
    )


def prefix_rules(rules: Iterable[RuleOf[Any]], prefix: str, place: str) -> tuple[RuleOf[Any], ...]:
    """Return rules about a part as rules about the objects that have the part at a path."""

    def moved(part_rule: RuleOf[Any]) -> RuleOf[Any]:
        return RuleOf(
            id=f"{prefix}-{part_rule.id}",
            at=joined(place, part_rule.at),
            field=joined(place, part_rule.field),
            message=part_rule.message,
            find_invalid_fields=invalid_fields(
                place, lambda part: part_rule.find_invalid_fields(part, None)
            ),
            cel=part_rule.cel,
            got=part_rule.got,
            reason=part_rule.reason,
        )

    return tuple(map(moved, rules))


def immutable_spec(what: str, advice: str) -> RuleOf[Any]:
    """Return the rule that the spec of a kind that runs once is immutable; `advice` is the
    alternative to a change."""

    def find_invalid_fields(new: Any, old: Any) -> Iterator[InvalidField]:
        # metadata.generation counts the changes of a spec, so that it detects a change that a CRD
        # without the rule accepted, also if the old object is unknown.
        if new.metadata.generation > 1 or (old is not None and new.spec != old.spec):
            yield "spec", None

    message = f"is immutable, because it runs once; {advice}"
    return RuleOf(
        f"{what}-fixed",
        "spec",
        "spec",
        message,
        find_invalid_fields,
        "self == oldSelf",
        reason=FORBIDDEN,
    )


# --- rules of profile Hardened ------------------------------------------------------------------

OFF = ~has("profile") | it("profile").differs("Hardened")
"""The profile is not Hardened; at spec."""


def hardened(
    what: str, field: str, message: str, holds: Predicate, **more: Unpack[More]
) -> RuleOf[Any]:
    """Return a rule at spec with the id hardened-<what>, which applies only in profile Hardened."""
    return rule(f"hardened-{what}", "spec", field, message, OFF | group(holds), **more)


def absent(what: str, field: str, message: str) -> RuleOf[Any]:
    """Return a rule that a field must not be set; the message omits its value, a secret."""
    return hardened(what, field, message, ~is_set(field), shows=None, reason=FORBIDDEN)


def false(what: str, field: str, message: str) -> RuleOf[Any]:
    """Return a rule that a boolean must not be true."""
    return hardened(what, field, message, ~either(field, False).is_true(), reason=FORBIDDEN)


def true(what: str, field: str, message: str) -> RuleOf[Any]:
    """Return a rule that a boolean must not be false."""
    return hardened(what, field, message, either(field, True).is_true())


def other_than(what: str, field: str, bad: Any, message: str, default: Any = "") -> RuleOf[Any]:
    """Return a rule that a field must not have the value `bad`; an absent field has `default`."""
    return hardened(what, field, message, either(field, default).differs(bad), reason=FORBIDDEN)
