"""How a rule is declared: once, for the API server (CEL) and for the operator (Python) alike.

Uses contracts.api.rules.checks and contracts.api.values.field_path. Called by the rule modules
here. `rule` takes a Predicate, which is both halves of the rule; or, for what CEL cannot say, a
Find. `offences` and `repeated` are for the Python half of a rule that names several places.
`placed` moves the rules of a part to where an object has it. `hardened` and what follows it make
rules that hold in profile Hardened only.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypedDict, Unpack

from contracts.api.meta import ApiModel
from contracts.api.rules.checks import Predicate, Value, either, group, has, is_set, it
from contracts.api.rules.rule import FORBIDDEN, BrokenOf, CelReason, Offence, RuleOf
from contracts.api.values.field_path import joined, nodes_at, value_at, values_at

Find = Callable[[Any], Any]
"""What offends in a node; None when nothing does."""


class More(TypedDict, total=False):
    """What a rule may say besides.

    `got` is the offending value in CEL, and `shows` the same in Python: a path below the node, a
    function of the node, or None for nothing. Without it a Value of `got` is shown, or else the
    field. `names` is the field that Python names, where it is more exact than the API server may
    be. `each` is a list below the node and what makes an item of it offend: then Python names each
    of those, with their field `names`. `cel` is the other half of a Find.
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
    """A rule about each node at a path, which complains about a field below it ("" is itself).

    A Predicate of oldSelf is asked about changes only.
    """
    got = more.get("got", "")
    return RuleOf(
        id=id,
        at=at,
        field=joined(at, field),
        message=message,
        broken=_refused(at, more.get("names", field), holds, more)
        if isinstance(holds, Predicate)
        else _found(at, field, holds),
        cel=holds.cel if isinstance(holds, Predicate) else more.get("cel", ""),
        got=str(got),
        reason=more.get("reason", "FieldValueInvalid"),
    )


def _refused(at: str, field: str, check: Predicate, more: More) -> BrokenOf[Any]:
    got = more.get("got")
    shown = got if isinstance(got, Value) else it(field)
    if "shows" in more:
        shown = _shown(more["shows"])
    about_changes = "oldSelf" in check.cel

    def broken(new: Any, old: Any) -> Iterator[Offence]:
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

    return broken


def _shown(shows: str | Find | None) -> Value:
    if isinstance(shows, str):
        return it(shows)
    return Value("", lambda now, was: None if shows is None else shows(now))


def _found(at: str, field: str, find: Find) -> BrokenOf[Any]:
    def broken(new: Any, old: Any) -> Iterator[Offence]:
        for path, node in nodes_at(new, at):
            value = None if node is None else find(node)
            if value is not None:
                yield joined(path, field), value

    return broken


def offences(at: str, find: Callable[[Any], Iterable[Offence]]) -> BrokenOf[Any]:
    """The Python half of a rule by a function that yields offences relative to each node."""

    def broken(new: Any, old: Any) -> Iterator[Offence]:
        for path, node in nodes_at(new, at):
            for field, value in find(node) if node is not None else ():
                yield joined(path, field), value

    return broken


def repeated(
    model: ApiModel, *paths: str, key: Callable[[Any], Hashable] = lambda value: value
) -> Iterator[Offence]:
    """Whatever at some paths has the key of something before it."""
    seen: set[Hashable] = set()
    for path in paths:
        for location, value in values_at(model, path):
            mark = key(value)
            if mark in seen:
                yield location, mark
            seen.add(mark)


def unique(id: str, at: str, field: str, path: str, message: str) -> RuleOf[Any]:
    """A rule that each value at a path below a node is there once; CEL leaves it to list types."""
    return RuleOf(
        id, at, joined(at, field), message, offences(at, lambda node: repeated(node, path))
    )


def placed(rules: Iterable[RuleOf[Any]], prefix: str, place: str) -> tuple[RuleOf[Any], ...]:
    """The rules about a part of an object, as rules about the objects that have it at a path."""

    def moved(one: RuleOf[Any]) -> RuleOf[Any]:
        return RuleOf(
            id=f"{prefix}-{one.id}",
            at=joined(place, one.at),
            field=joined(place, one.field),
            message=one.message,
            broken=offences(place, lambda part: one.broken(part, None)),
            cel=one.cel,
            got=one.got,
            reason=one.reason,
        )

    return tuple(map(moved, rules))


def immutable_spec(what: str, advice: str) -> RuleOf[Any]:
    """The rule that a spec is immutable, for a kind that is carried out once; `advice` is what to
    do instead of a change."""

    def broken(new: Any, old: Any) -> Iterator[Offence]:
        # The API server counts the changes of a spec: an object that was changed where no rule
        # stood is known by it, without the former one.
        if new.metadata.generation > 1 or (old is not None and new.spec != old.spec):
            yield "spec", None

    message = f"must stay as it is, because it is carried out once; {advice}"
    return RuleOf(
        f"{what}-fixed", "spec", "spec", message, broken, "self == oldSelf", reason=FORBIDDEN
    )


# --- what profile Hardened refuses --------------------------------------------------------------

OFF = ~has("profile") | it("profile").differs("Hardened")
"""The profile is another one; at spec."""


def hardened(
    what: str, field: str, message: str, holds: Predicate, **more: Unpack[More]
) -> RuleOf[Any]:
    """A rule at spec with the id hardened-<what>; what must hold in the profile."""
    return rule(f"hardened-{what}", "spec", field, message, OFF | group(holds), **more)


def absent(what: str, field: str, message: str) -> RuleOf[Any]:
    """A rule that a field must not be set at all; its value is never shown, for it is a secret."""
    return hardened(what, field, message, ~is_set(field), shows=None, reason=FORBIDDEN)


def false(what: str, field: str, message: str) -> RuleOf[Any]:
    """A rule that a switch must not be on."""
    return hardened(what, field, message, ~either(field, False).is_true(), reason=FORBIDDEN)


def true(what: str, field: str, message: str) -> RuleOf[Any]:
    """A rule that a switch must not be off, where it is set."""
    return hardened(what, field, message, either(field, True).is_true())


def other_than(what: str, field: str, bad: Any, message: str, default: Any = "") -> RuleOf[Any]:
    """A rule that a field must not have one value; `default` stands for an absent one."""
    return hardened(what, field, message, either(field, default).differs(bad), reason=FORBIDDEN)
