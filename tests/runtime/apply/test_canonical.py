"""runtime.apply.canonical: equal intents have one form."""

import copy
import random
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.apply.canonical import MEANINGFUL, normal
from runtime.apply.intent import Intent
from runtime.builtin_kinds import CONFIG_MAP, NETWORK_POLICY, PVC, ROLE, SECRET, STATEFUL_SET
from runtime.types import Object, Resource

WIDGET = Resource("example.com", "v1", "Widget", "widgets")
QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
LIMITS = Resource("", "v1", "LimitRange", "limitranges")
NONE: frozenset[str] = frozenset()


def with_name(body: Object) -> Object:
    """Add a name, which an intent requires."""
    return {**body, "metadata": {"name": "any", **body.get("metadata", {})}}


class Form(NamedTuple):
    resource: Resource
    written: Object
    form: Object


FORMS: dict[str, Form] = {
    "a null is dropped": Form(
        CONFIG_MAP, {"immutable": None, "a": {"b": None, "c": 1}}, {"a": {"c": 1}}
    ),
    "a null in a list is dropped": Form(
        ROLE, {"rules": [None, {"verbs": ["get", None]}]}, {"rules": [{"verbs": ["get"]}]}
    ),
    "an empty map is dropped": Form(STATEFUL_SET, {"spec": {"updateStrategy": {}}}, {"spec": {}}),
    "an empty list is dropped": Form(ROLE, {"rules": []}, {}),
    "an empty text is dropped": Form(STATEFUL_SET, {"spec": {"serviceName": ""}}, {"spec": {}}),
    "a map that becomes empty is dropped": Form(
        STATEFUL_SET,
        {"spec": {"template": {"metadata": {"annotations": {}}, "x": [None]}}},
        {"spec": {}},
    ),
    "false and zero stay": Form(
        STATEFUL_SET,
        {"spec": {"replicas": 0, "paused": False}},
        {"spec": {"replicas": 0, "paused": False}},
    ),
    "items of lists stay, empty or not": Form(
        ROLE,
        {"rules": [{"apiGroups": [""], "verbs": ["get"]}, {}]},
        {"rules": [{"apiGroups": [""], "verbs": ["get"]}, {}]},
    ),
    "a volume of defaults stays": Form(
        STATEFUL_SET,
        {"spec": {"volumes": [{"name": "tmp", "emptyDir": {}}]}},
        {"spec": {"volumes": [{"name": "tmp", "emptyDir": {}}]}},
    ),
    "a policy that selects all and lets nothing through stays": Form(
        NETWORK_POLICY,
        {"spec": {"podSelector": {}, "ingress": [], "egress": []}},
        {"spec": {"podSelector": {}, "ingress": [], "egress": []}},
    ),
    "a rule that lets everything through stays": Form(
        NETWORK_POLICY, {"spec": {"ingress": [{"from": []}]}}, {"spec": {"ingress": [{}]}}
    ),
    "no storage class is not the default one": Form(
        PVC, {"spec": {"storageClassName": ""}}, {"spec": {"storageClassName": ""}}
    ),
    "an empty file stays": Form(CONFIG_MAP, {"data": {"a": "", "b": None}}, {"data": {"a": ""}}),
    "a missing file is dropped": Form(CONFIG_MAP, {"data": {}}, {}),
    "an empty label stays": Form(
        CONFIG_MAP,
        {"metadata": {"labels": {"role/x": ""}, "annotations": {"a": ""}}},
        {"metadata": {"labels": {"role/x": ""}, "annotations": {"a": ""}}},
    ),
    "a tuple is a list, and any mapping a map": Form(
        ROLE, {"rules": (MappingProxyType({"verbs": ("get",)}),)}, {"rules": [{"verbs": ["get"]}]}
    ),
    "a whole float is an integer": Form(
        WIDGET, {"spec": {"a": 1.0, "b": 1.5}}, {"spec": {"a": 1, "b": 1.5}}
    ),
    "times and durations stay": Form(
        WIDGET,
        {"spec": {"at": "2030-01-01T00:00:00+00:00", "every": "90s", "size": "1000m"}},
        {"spec": {"at": "2030-01-01T00:00:00+00:00", "every": "90s", "size": "1000m"}},
    ),
}


@pytest.mark.parametrize(("resource", "value", "form"), FORMS.values(), ids=FORMS.keys())
def test_t25_form(resource: Resource, value: Object, form: Object) -> None:
    assert normal(resource, value, NONE) == form
    assert Intent(resource, with_name(value)).body == with_name(form)


def container(**resources: Any) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"resources": resources}]}}}}


QUANTITIES: dict[str, Form] = {
    "requests and limits of a container": Form(
        STATEFUL_SET,
        container(requests={"cpu": "1000m", "memory": 1024}, limits={"cpu": 0.5}),
        container(requests={"cpu": "1", "memory": "1024"}, limits={"cpu": "500m"}),
    ),
    "the size of a claim": Form(
        PVC,
        {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}},
        {"spec": {"resources": {"requests": {"storage": "1Gi"}}}},
    ),
    "the size of a claim in a template": Form(
        STATEFUL_SET,
        {
            "spec": {
                "volumeClaimTemplates": [
                    {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}
                ]
            }
        },
        {
            "spec": {
                "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1Gi"}}}}]
            }
        },
    ),
    "the limit of a volume in memory": Form(
        STATEFUL_SET,
        {"spec": {"volumes": [{"emptyDir": {"medium": "Memory", "sizeLimit": "1024Ki"}}]}},
        {"spec": {"volumes": [{"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]}},
    ),
    "the unit of a downward field": Form(
        STATEFUL_SET,
        {"valueFrom": {"resourceFieldRef": {"divisor": "1000m", "resource": "limits.cpu"}}},
        {"valueFrom": {"resourceFieldRef": {"divisor": "1", "resource": "limits.cpu"}}},
    ),
    "a quota": Form(
        QUOTA, {"spec": {"hard": {"limits.cpu": "4000m"}}}, {"spec": {"hard": {"limits.cpu": "4"}}}
    ),
    "a range of limits": Form(
        LIMITS,
        {"spec": {"limits": [{"max": {"cpu": "4000m"}, "type": "Pod"}]}},
        {"spec": {"limits": [{"max": {"cpu": "4"}, "type": "Pod"}]}},
    ),
    "a string in a file is not a quantity": Form(
        CONFIG_MAP,
        {"data": {"sizeLimit": "1000m", "divisor": "1000m"}},
        {"data": {"sizeLimit": "1000m", "divisor": "1000m"}},
    ),
    "no label": Form(
        CONFIG_MAP,
        {"metadata": {"labels": {"cpu": "1000m"}}},
        {"metadata": {"labels": {"cpu": "1000m"}}},
    ),
    "a string in a custom kind is not a quantity": Form(
        WIDGET, container(requests={"cpu": "1000m"}), container(requests={"cpu": "1000m"})
    ),
}


@pytest.mark.parametrize(("resource", "value", "form"), QUANTITIES.values(), ids=QUANTITIES.keys())
def test_t25_quantities_are_in_known_fields(
    resource: Resource, value: Object, form: Object
) -> None:
    assert normal(resource, value, NONE) == form


def test_t25_an_intent_may_keep_more_empty_fields() -> None:
    issuer: Object = {"spec": {"selfSigned": {}, "acme": {}}}
    assert Intent(WIDGET, with_name(issuer)).body == with_name({"spec": {}})
    meant = Intent(WIDGET, with_name(issuer), frozenset({"selfSigned"}))
    assert meant.body == with_name({"spec": {"selfSigned": {}}})


def test_t25_string_data_is_refused_by_name() -> None:
    for value in ({"a": "b"}, {}, None):
        with pytest.raises(ValueError, match=r"^stringData: .*base64"):
            Intent(SECRET, {"stringData": value})
    assert Intent(WIDGET, with_name({"spec": {"stringData": {"a": "b"}}})).body["spec"]


def test_t25_a_bad_quantity_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"spec\.template\..*\.requests\.cpu: not a quantity: 'x'"):
        Intent(STATEFUL_SET, container(requests={"cpu": "x"}))


def test_t25_a_value_that_json_cannot_encode_is_rejected_by_name() -> None:
    with pytest.raises(TypeError, match=r"spec\.a: set is not a JSON value"):
        Intent(WIDGET, {"spec": {"a": {1}}})


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.floats(-9, 9),
    st.sampled_from(["", "1000m", "x"]),
)
NAMES = st.sampled_from(["a", "b", "data", "emptyDir", "spec", "podSelector", "ingress"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)
BODIES = st.dictionaries(NAMES, VALUES)


@settings(deadline=None)
@given(BODIES)
def test_t25_the_canonical_form_is_idempotent(body: Object) -> None:
    before = copy.deepcopy(body)
    once = normal(WIDGET, body, NONE)
    assert normal(WIDGET, once, NONE) == once
    assert body == before


@settings(deadline=None)
@given(BODIES, st.integers(0, 99))
def test_t25_equivalent_intents_have_one_hash(body: Object, seed: int) -> None:
    rng = random.Random(seed)
    assert (
        Intent(WIDGET, _otherwise(with_name(body), rng)).digest
        == Intent(WIDGET, with_name(body)).digest
    )


def _otherwise(value: Any, rng: random.Random, *, free: bool = False) -> Any:
    """The same intent in another form: another order, more nulls and empty values."""
    if isinstance(value, dict):
        pairs = [(key, _otherwise(item, rng, free=key == "data")) for key, item in value.items()]
        pairs += [("nothing", None), ("empty", None if free else rng.choice([{}, [], [None], ""]))]
        rng.shuffle(pairs)
        return dict(pairs)
    if isinstance(value, list):
        return tuple(_otherwise(item, rng) for item in value)
    return value


@given(BODIES)
def test_t25_only_meaningful_empty_values_are_kept(body: Object) -> None:
    _check(normal(WIDGET, body, NONE), free=False)


def _check(value: Any, *, free: bool) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            assert item is not None
            assert free or key in MEANINGFUL or item not in ({}, [], "")
            _check(item, free=key == "data")
    if isinstance(value, list):
        for item in value:
            _check(item, free=free)


def test_an_intent_is_a_copy_of_its_parts() -> None:
    inner = {"b": 1}
    intent = Intent(WIDGET, with_name({"a": inner}))
    inner["b"] = 2
    assert intent.body == with_name({"a": {"b": 1}})
