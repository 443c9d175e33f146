"""Conditions about a node of an object that have the same meaning in CEL and in Python.

Uses contracts.api.values. Called by contracts.api.rules.combinators, which declares rules with
them, and by the rule modules of this package. `it` and `either` return a Value for a path of
aliases below the node of a rule, `has` and `is_set` return a Predicate. Both have the CEL text
(`cel`, also by str()). `~` is the `!` of CEL; `&`, `|` and `~` add parentheses where CEL needs
them, and `group` adds them where it does not.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from contracts.api.values import url
from contracts.api.values.duration import counted_duration
from contracts.api.values.field_path import joined, value_at
from contracts.api.values.pattern import Pattern
from contracts.ip_address import is_cidr, is_ip
from runtime import quantity

_EITHER, _OR, _AND, _COMPARED, _ATOM = range(5)
"""Operator precedence in CEL, lowest first."""

Evaluate = Callable[[Any, Any], bool]


def _literal(value: Any) -> str:
    """CEL for a Value, or for a string, number, boolean or list of them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}'"
    return str(list(value)) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition about a node; `holds` gets the node, and the node before the update or None."""

    cel: str
    holds: Evaluate
    binds: int = _ATOM

    def __str__(self) -> str:
        return self.cel

    def __and__(self, other: "Predicate") -> "Predicate":
        cel = f"{self.inside(_AND)} && {other.inside(_AND)}"
        return Predicate(cel, lambda now, was: self.holds(now, was) and other.holds(now, was), _AND)

    def __or__(self, other: "Predicate") -> "Predicate":
        cel = f"{self.inside(_OR)} || {other.inside(_OR)}"
        return Predicate(cel, lambda now, was: self.holds(now, was) or other.holds(now, was), _OR)

    def __invert__(self) -> "Predicate":
        return Predicate(f"!{self.inside(_ATOM)}", lambda now, was: not self.holds(now, was))

    def iff(self, other: "Predicate") -> "Predicate":
        """Both are true, or both are false."""
        return self._join(other, "==", operator.eq)

    def xor(self, other: "Predicate") -> "Predicate":
        """Exactly one of the two is true."""
        return self._join(other, "!=", operator.ne)

    def _join(
        self, other: "Predicate", sign: str, compare: Callable[[bool, bool], bool]
    ) -> "Predicate":
        return Predicate(
            f"{self.inside(_ATOM)} {sign} {other.inside(_ATOM)}",
            lambda now, was: compare(self.holds(now, was), other.holds(now, was)),
            _COMPARED,
        )

    def inside(self, binds: int) -> str:
        """Its CEL as an operand of an operator with this precedence."""
        return self.cel if self.binds >= binds else f"({self.cel})"


def group(check: Predicate) -> Predicate:
    """The check in parentheses."""
    return Predicate(f"({check.cel})", check.holds)


def choose(condition: Predicate, then: Predicate, otherwise: Predicate) -> Predicate:
    """The conditional operator of CEL."""
    return Predicate(
        f"{condition.inside(_OR)} ? {then.inside(_OR)} : {otherwise.inside(_OR)}",
        lambda now, was: (then if condition.holds(now, was) else otherwise).holds(now, was),
        _EITHER,
    )


def all_of(checks: Iterable[Predicate]) -> Predicate:
    """All checks are true."""
    first, *others = checks
    for other in others:
        first = first & other
    return first


def any_of(checks: Iterable[Predicate]) -> Predicate:
    """At least one check is true."""
    first, *others = checks
    for other in others:
        first = first | other
    return first


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a node; `of` gets the node, and the node before the update. None is an absent
    value; every ordering comparison with it is false."""

    cel: str
    of: Callable[[Any, Any], Any]

    def __str__(self) -> str:
        return self.cel

    def _compare(self, sign: str, other: Any, compare: Callable[[Any, Any], bool]) -> Predicate:
        their = other.of if isinstance(other, Value) else lambda now, was: other
        equality = compare in (operator.eq, operator.ne)

        def holds(now: Any, was: Any) -> bool:
            ours, theirs = self.of(now, was), their(now, was)
            if not equality and (ours is None or theirs is None):
                return False
            return compare(ours, theirs)

        return Predicate(f"{self.cel} {sign} {_literal(other)}", holds, _COMPARED)

    def equals(self, other: Any) -> Predicate:
        """The value equals another Value or a literal."""
        return self._compare("==", other, operator.eq)

    def differs(self, other: Any) -> Predicate:
        """The value does not equal another Value or a literal."""
        return self._compare("!=", other, operator.ne)

    def at_least(self, other: Any) -> Predicate:
        """The value is greater than or equal to a Value or literal."""
        return self._compare(">=", other, operator.ge)

    def at_most(self, other: Any) -> Predicate:
        """The value is less than or equal to a Value or literal."""
        return self._compare("<=", other, operator.le)

    def above(self, other: Any) -> Predicate:
        """The value is greater than a Value or literal."""
        return self._compare(">", other, operator.gt)

    def one_of(self, values: Iterable[Any]) -> Predicate:
        """The value is one of some strings or numbers."""
        listed = list(values)
        cel = f"{self.cel} in {listed}"
        return Predicate(cel, lambda now, was: self.of(now, was) in listed, _COMPARED)

    def is_true(self) -> Predicate:
        """The value is the boolean true."""
        return Predicate(self.cel, lambda now, was: bool(self.of(now, was)))

    def like(self, cel: str, judge: Callable[[Any], bool]) -> Predicate:
        """A condition about a string in two forms: `judge`, and `cel`, which is appended to the
        value."""

        def holds(now: Any, was: Any) -> bool:
            value = self.of(now, was)
            return value is not None and judge(value)

        return Predicate(f"{self.cel}{cel}", holds)

    def matches(self, pattern: Pattern, mark: str = "r") -> Predicate:
        """A part of the string matches a pattern; `mark` may be "" for one without backslashes."""
        return self.like(f".matches({mark}'{pattern}')", pattern.found_in)

    def contains(self, part: str) -> Predicate:
        """The string contains a part."""
        return self.like(f".contains('{part}')", lambda text: part in text)

    def starts_with(self, part: str) -> Predicate:
        """The string begins with a part."""
        return self.like(f".startsWith('{part}')", lambda text: text.startswith(part))

    def is_ip(self) -> Predicate:
        """The string is an IP address."""
        return Predicate(f"isIP({self.cel})", lambda now, was: is_ip(self.of(now, was)))

    def is_cidr(self) -> Predicate:
        """The string is a CIDR."""
        return Predicate(f"isCIDR({self.cel})", lambda now, was: is_cidr(self.of(now, was)))

    def is_elsewhere(self) -> Predicate:
        """The string is a URL of another machine, see contracts.api.values.url."""

        def holds(now: Any, was: Any) -> bool:
            address = self.of(now, was)
            return address is not None and url.is_elsewhere(address)

        return Predicate(url.is_elsewhere_cel(self.cel), holds, _AND)

    def exists(self, name: str, check: Predicate) -> Predicate:
        """The list has an item for which a check is true; `name` is the item's name in CEL."""

        def holds(now: Any, was: Any) -> bool:
            return any(check.holds(item, None) for item in self.of(now, was) or ())

        return Predicate(f"{self.cel}.exists({name}, {check.cel})", holds)

    def size(self) -> "Value":
        """The length of a string or list; 0 if it is absent."""
        return Value(f"{self.cel}.size()", lambda now, was: len(self.of(now, was) or ()))

    def duration(self) -> "Value":
        """The duration in a string; None for one that overflows."""

        def of(now: Any, was: Any) -> Any:
            text = self.of(now, was)
            return None if text is None else counted_duration(text)

        return Value(f"duration({self.cel})", of)

    def no_smaller_than(self, other: "Value") -> Predicate:
        """The quantity in the string is greater than or equal to another."""
        return Predicate(
            f"quantity({self.cel}).compareTo(quantity({other.cel})) >= 0",
            lambda now, was: (
                quantity.parse(self.of(now, was)) >= quantity.parse(other.of(now, was))
            ),
            _COMPARED,
        )

    def is_some(self) -> Predicate:
        """The quantity is greater than 0."""
        cel = f"quantity({self.cel}).isGreaterThan(quantity('0'))"
        return Predicate(cel, lambda now, was: quantity.parse(self.of(now, was)) > 0)


# --- values and checks of a node ----------------------------------------------------------------


def _reader(path: str, of: str) -> Callable[[Any, Any], Any]:
    def read(now: Any, was: Any) -> Any:
        node = was if of == "oldSelf" else now
        return value_at(node, path) if path and node is not None else node

    return read


def it(path: str = "", of: str = "self") -> Value:
    """The value at a path below the node, or the node; `of` is self, oldSelf or an item's name."""
    return Value(joined(of, path), _reader(path, of))


def duration(text: str) -> Value:
    """A literal duration."""
    period = counted_duration(text)
    return Value(f"duration('{text}')", lambda now, was: period)


def has(path: str, of: str = "self") -> Predicate:
    """A field is set; its parent must be set, or CEL fails."""
    read = _reader(path, of)
    return Predicate(f"has({of}.{path})", lambda now, was: read(now, was) is not None)


def _chain(path: str, of: str) -> str:
    steps = path.split(".")
    return " && ".join(f"has({of}.{'.'.join(steps[:end])})" for end in range(1, len(steps) + 1))


def is_set(path: str, of: str = "self") -> Predicate:
    """A field and all its parents are set."""
    return Predicate(f"({_chain(path, of)})", has(path, of).holds)


def either(path: str, default: Any, of: str = "self") -> Value:
    """An optional field, or a default where any part of the path is absent.

    It uses has() and not CEL's optional values: the API server's cost estimate loses the bounds of
    optional values, and then rejects the rule.
    """
    read = _reader(path, of)

    def value(now: Any, was: Any) -> Any:
        current = read(now, was)
        return default if current is None else current

    return Value(f"({_chain(path, of)} ? {of}.{path} : {_literal(default)})", value)


def both(path: str, default: Any) -> tuple[Value, Value]:
    """An optional field after and before an update."""
    return either(path, default), either(path, default, "oldSelf")


def exactly_one(first: str, second: str) -> Predicate:
    """Exactly one of two fields is set."""
    return has(first).xor(has(second))


def if_set(path: str, check: Predicate) -> Predicate:
    """The check is true, or the optional field is absent."""
    return ~has(path) | check
