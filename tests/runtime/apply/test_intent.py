"""runtime.apply.intent: comparison with live objects, and the digest."""

import random
from hashlib import blake2b
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.apply.intent import Intent, contains, digest
from runtime.builtin_kinds import CONFIG_MAP, NAMESPACE
from runtime.types import ObjectKey
from tests.gen.calls import CallCount


class Comparison(NamedTuple):
    live: Any
    wanted: Any
    so: bool


CONTAINMENT: dict[str, Comparison] = {
    "equal values are contained": Comparison({"a": 1}, {"a": 1}, True),
    "another value is not contained": Comparison({"a": 1}, {"a": 2}, False),
    "a missing field is not contained": Comparison({}, {"a": 1}, False),
    "a field of another manager is ignored": Comparison({"a": 1, "b": 2}, {"a": 1}, True),
    "a nested default is ignored": Comparison({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
    "an empty intent is contained in any map": Comparison({"a": 1}, {}, True),
    "a map is not contained in a scalar": Comparison({"a": 1}, {"a": {}}, False),
    "a list is not contained in a map": Comparison({"a": {}}, {"a": []}, False),
    "scalars are compared by position": Comparison(["a", "b"], ["a", "b"], True),
    "the order of scalars matters": Comparison(["b", "a"], ["a", "b"], False),
    "an additional scalar is a difference": Comparison(["a", "b"], ["a"], False),
    "named items are matched in any order": Comparison(
        [{"name": "b"}, {"name": "a", "value": "1", "default": "x"}],
        [{"name": "a", "value": "1"}],
        True,
    ),
    "a named item of another value is a difference": Comparison(
        [{"name": "a", "value": "2"}], [{"name": "a", "value": "1"}], False
    ),
    "a named item that is missing is a difference": Comparison(
        [{"name": "b"}], [{"name": "a"}], False
    ),
    "mounts are matched by path, not by volume": Comparison(
        [{"name": "v", "mountPath": "/b"}, {"name": "v", "mountPath": "/a"}],
        [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}],
        True,
    ),
    "ports with one number are matched by protocol": Comparison(
        [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
        True,
    ),
    "owners are matched by uid": Comparison(
        [{"uid": "1", "name": "n"}, {"uid": "2", "name": "n", "controller": True}],
        [{"uid": "2", "name": "n", "controller": True}],
        True,
    ),
    "items without a merge key are compared by position": Comparison(
        [{"ports": [1]}, {"ports": [2]}], [{"ports": [2]}, {"ports": [1]}], False
    ),
    "items without a merge key may have defaults": Comparison(
        [{"ports": [1], "policy": "x"}], [{"ports": [1]}], True
    ),
    "a missing list equals an empty one": Comparison({}, {"a": []}, True),
    "a missing map differs from an empty one": Comparison({}, {"a": {}}, False),
    "a missing string differs from an empty one": Comparison({}, {"a": ""}, False),
    "an empty list requires an empty list": Comparison({"a": [1]}, {"a": []}, False),
    "an additional item in an atomic list is a difference": Comparison(
        {"subjects": [{"name": "a"}, {"name": "intruder"}]}, {"subjects": [{"name": "a"}]}, False
    ),
    "an additional nested field in an atomic list is a difference": Comparison(
        {"ingress": [{"ports": [{"port": 1, "protocol": "TCP"}]}]},
        {"ingress": [{"ports": [{"port": 1}]}]},
        False,
    ),
    "an additional label in a selector is a difference": Comparison(
        {"selector": {"a": "b", "c": "d"}}, {"selector": {"a": "b"}}, False
    ),
    "an equal atomic list is contained": Comparison(
        {"rules": [{"verbs": ["get"]}], "more": 1}, {"rules": ({"verbs": ("get",)},)}, True
    ),
    "a quantity in another form is a difference that the caller remembers": Comparison(
        {"cpu": "1"}, {"cpu": "1000m"}, False
    ),
}


@pytest.mark.parametrize(("live", "wanted", "so"), CONTAINMENT.values(), ids=CONTAINMENT.keys())
def test_t24_containment(live: Any, wanted: Any, so: bool) -> None:
    assert contains(live, wanted) is so


def test_a_comparison_of_json_needs_no_checks_against_abstract_classes() -> None:
    """They take most of its time, and a new leader compares all objects of all clusters."""
    field = {"name": "x", "items": [{"name": "x", "value": 1}]}
    body = {"spec": {f"field-{number}": field for number in range(100)}}
    with CallCount() as count:
        assert contains(body, body)
    # 64 for each field; 84 with such checks.
    assert count.calls < 70 * 100


LEAVES = st.one_of(st.booleans(), st.integers(-9, 9), st.text("ab", max_size=2))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("pqr"), VALUES)


def _with_more(value: Any, rng: random.Random) -> Any:
    """The value with another manager's field in each of its maps, in another order."""
    if isinstance(value, dict):
        pairs = [(key, _with_more(item, rng)) for key, item in value.items()]
        pairs.append(("foreign", rng.randint(0, 9)))
        rng.shuffle(pairs)
        return dict(pairs)
    if isinstance(value, list):
        return [_with_more(item, rng) for item in value]
    return value


@settings(deadline=None, max_examples=60)
@given(OBJECTS, st.integers(0, 99))
def test_t24_fields_of_others_are_ignored(wanted: dict[str, Any], seed: int) -> None:
    assert contains(wanted, wanted)
    assert contains(_with_more(wanted, random.Random(seed)), wanted)


@settings(deadline=None, max_examples=60)
@given(OBJECTS, st.sampled_from("pqr"))
def test_t24_an_additional_desired_field_is_never_contained(live: dict[str, Any], key: str) -> None:
    expected = {**live, key: {"new": live.get(key)}}
    assert not contains(live, expected)


@settings(deadline=None, max_examples=60)
@given(OBJECTS, OBJECTS, st.integers(0, 99))
def test_t25_a_digest_is_independent_of_the_order(
    one: dict[str, Any], other: dict[str, Any], seed: int
) -> None:
    pairs = list(one.items())
    random.Random(seed).shuffle(pairs)
    assert digest(dict(pairs)) == digest(one)
    assert (digest(one) == digest(other)) is (_typed_value(one) == _typed_value(other))


def _typed_value(value: Any) -> Any:
    """The value in a form in which True and 1 differ, as in JSON."""
    if isinstance(value, dict):
        return {key: _typed_value(item) for key, item in value.items()}
    return [_typed_value(item) for item in value] if isinstance(value, list) else repr(value)


def test_t25_a_digest_is_the_same_in_every_process() -> None:
    assert digest({"b": [1, "x"], "a": None}) == digest({"a": None, "b": [1, "x"]})
    written = b'{"a":null,"b":[1,"x"]}'
    assert digest({"b": [1, "x"], "a": None}) == blake2b(written, digest_size=16).hexdigest()


def test_the_key_and_the_text_of_an_intent() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}}
    intent = Intent(CONFIG_MAP, body)
    assert intent.key == ObjectKey("n", "c")
    assert str(intent) == "ConfigMap n/c"
    assert Intent(NAMESPACE, {"metadata": {"name": "n"}}).key == ObjectKey("", "n")


def test_t25_an_intent_is_hashed_by_its_body_alone() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    intent, other = Intent(CONFIG_MAP, body), Intent(CONFIG_MAP, dict(reversed(body.items())))
    assert intent == other
    assert intent.digest == other.digest == digest(intent.body)
    assert intent == other, "a digest that was asked for is no part of the value"
    assert Intent(CONFIG_MAP, {**body, "data": {"a": "c"}}).digest != intent.digest
