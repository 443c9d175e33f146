"""Conditions mean in Python what their CEL says, parentheses included."""

from typing import Any

import pytest

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.rules.checks import (
    Predicate,
    all_of,
    any_of,
    both,
    choose,
    duration,
    either,
    exactly_one,
    group,
    has,
    if_set,
    is_set,
    it,
)
from contracts.api.values.pattern import Pattern
from tests.contracts.api.clusters import cluster

YES, NO = Predicate("yes", lambda now, was: True), Predicate("no", lambda now, was: False)
STATIC = either("unseal.type", "static").equals("static")


def spec(**fields: Any) -> ClusterSpec:
    return cluster(**fields).spec


@pytest.mark.parametrize(
    ("check", "cel", "expected"),
    [
        (YES | NO & NO, "yes || no && no", True),
        ((YES | NO) & NO, "(yes || no) && no", False),
        (NO & (YES | NO), "no && (yes || no)", False),
        (~(NO & NO), "!(no && no)", True),
        (~NO & NO, "!no && no", False),
        (~group(YES), "!(yes)", False),
        (group(YES) | NO, "(yes) || no", True),
        (all_of((YES, YES, NO)), "yes && yes && no", False),
        (any_of((NO, NO, YES)), "no || no || yes", True),
        (choose(YES, NO, YES) & YES, "(yes ? no : yes) && yes", False),
        (~choose(NO, NO, YES), "!(no ? no : yes)", False),
        (YES.iff(NO | YES), "yes == (no || yes)", True),
        (YES.xor(~YES), "yes != !yes", True),
        (~YES.iff(NO), "!(yes == no)", True),
    ],
)
def test_checks_combine_with_the_precedence_of_cel(
    check: Predicate, cel: str, expected: bool
) -> None:
    assert str(check) == cel
    assert check.holds(None, None) is expected


@pytest.mark.parametrize(
    ("check", "cel", "good", "bad"),
    [
        (has("image"), "has(self.image)", {"image": "a"}, {}),
        (
            is_set("upgrade.strategy"),
            "(has(self.upgrade) && has(self.upgrade.strategy))",
            {"upgrade": {}},
            {},
        ),
        (
            STATIC,
            "(has(self.unseal) && has(self.unseal.type) ? self.unseal.type : 'static') == 'static'",
            {},
            {"unseal": {"type": "transit"}},
        ),
        (it("replicas").at_least(3), "self.replicas >= 3", {}, {"replicas": 1}),
        (it("replicas").at_most(3), "self.replicas <= 3", {}, {"replicas": 5}),
        (it("replicas").above(1), "self.replicas > 1", {}, {"replicas": 1}),
        (it("replicas").one_of((1, 3)), "self.replicas in [1, 3]", {}, {"replicas": 5}),
        (it("replicas").differs(5), "self.replicas != 5", {}, {"replicas": 5}),
        (it("paused").is_true(), "self.paused", {"paused": True}, {}),
        (it("image").contains("b"), "self.image.contains('b')", {"image": "abc"}, {}),
        (it("image").starts_with("a"), "self.image.startsWith('a')", {"image": "ab"}, {}),
        (
            it("image").matches(Pattern("^a+$")),
            "self.image.matches(r'^a+$')",
            {"image": "aa"},
            {"image": "b"},
        ),
        (
            it("fencedPods").size().equals(0),
            "self.fencedPods.size() == 0",
            {},
            {"fencedPods": ["c-0"]},
        ),
        (
            it("fencedPods").exists("p", it(of="p").equals("c-0")),
            "self.fencedPods.exists(p, p == 'c-0')",
            {"fencedPods": ["c-0"]},
            {"fencedPods": ["c-1"]},
        ),
        (
            it("tls.rotationPeriod").duration().at_least(duration("1h")),
            "duration(self.tls.rotationPeriod) >= duration('1h')",
            {"tls": {"rotationPeriod": "61m"}},
            {"tls": {"rotationPeriod": "99999999999h"}},
        ),
        (
            it("storage.size").is_some(),
            "quantity(self.storage.size).isGreaterThan(quantity('0'))",
            {},
            {"storage": {"size": "0"}},
        ),
        (
            exactly_one("image", "upgrade"),
            "has(self.image) != has(self.upgrade)",
            {"image": "a"},
            {"image": "a", "upgrade": {}},
        ),
        (
            if_set("image", it("image").equals("a")),
            "!has(self.image) || self.image == 'a'",
            {},
            {"image": "b"},
        ),
    ],
)
def test_a_check_of_a_spec(
    check: Predicate, cel: str, good: dict[str, Any], bad: dict[str, Any]
) -> None:
    assert str(check) == cel
    assert check.holds(spec(**good), None)
    assert not check.holds(spec(**bad), None)


def test_a_value_before_the_update() -> None:
    now, before = both("image", "")
    assert str(before) == "(has(oldSelf.image) ? oldSelf.image : '')"
    assert now.equals(before).holds(spec(), spec(image=None))
    assert not now.equals(before).holds(spec(image="b"), spec(image="a"))


def test_an_absent_value_fails_every_comparison() -> None:
    absent = it("upgrade.strategy")
    assert not absent.at_least("a").holds(spec(), None)
    assert not absent.at_most("z").holds(spec(), None)
    assert absent.differs("a").holds(spec(), None)
