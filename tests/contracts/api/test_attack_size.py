"""The cost of a spec of hostile size or shape: a refusal, or work linear in its size.

Work is counted in calls of Python functions, never timed. No regular expression of a user
backtracks: Rust's regex is used here and RE2 in the API server, checked by the imports of the code.
"""

import ast
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.spec import LEVELS_MAX, VALUES_MAX, ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.cluster import violations
from contracts.api.rules.unsupported_fields import unserved_fields
from contracts.api.schema.crd import Schema, open_api_schema, walk
from contracts.api.values.pattern import Pattern
from contracts.api.violation import InvalidClusterError
from runtime.limits.nesting import too_many
from tests.contracts.api.clusters import cluster_object, with_request
from tests.contracts.api.models import models_of
from tests.gen.calls import CallCount

API = Path(__file__).resolve().parents[3] / "contracts" / "api"
# Where the standard library's patterns are used: on texts of at most this many characters, or of
# the operator's own.
BACKTRACKING = {
    "schema/crd.py": "descriptions of the operator's own",
    "values/duration.py": "a duration, 256",
    "values/identity_pattern.py": "a pattern of an identity; one part at a time, without a repeat",
}


def _work(obj: dict[str, Any]) -> int:
    """The number of calls to read a cluster and to check every rule."""
    with CallCount() as count:
        read = OpenBaoCluster.from_object(obj)
        violations(read)
        unserved_fields(read.spec)
    return count.calls


def _requests(number: int, data: Any) -> dict[str, Any]:
    requests = [
        {"name": f"r{at}", "operation": "update", "path": f"kv/{at}", "data": data}
        for at in range(number)
    ]
    return cluster_object(selfInit={"enabled": True, "requests": requests})


def test_attack_t10_every_list_text_and_map_is_bounded() -> None:
    """The API server and the models refuse larger values."""
    unbounded: list[str] = []

    def visit(path: str, node: Schema) -> None:
        if not path.startswith("spec"):
            return
        match node.get("type"):
            case "array" if "maxItems" not in node:
                unbounded.append(path)
            case "string" if "enum" not in node and "maxLength" not in node:
                unbounded.append(path)
            case "object" if "properties" not in node and "maxProperties" not in node:
                unbounded.append(path)

    walk(open_api_schema(), visit)
    assert unbounded == []


def test_attack_t10_every_list_of_the_models_is_bounded() -> None:
    unbounded = [
        f"{model.__name__}.{name}"
        for model in models_of(ClusterSpec)
        for name, field in model.model_fields.items()
        if _is_list(field.annotation) and not _has_limit(field.metadata, field.annotation)
    ]
    assert unbounded == []


def _is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is tuple or any(
        getattr(part, "__origin__", None) is tuple for part in getattr(kind, "__args__", ())
    )


def _has_limit(metadata: list[Any], kind: Any) -> bool:
    parts = [*metadata, *getattr(kind, "__metadata__", ())]
    for inner in getattr(kind, "__args__", ()):
        parts.extend(getattr(inner, "__metadata__", ()))
    flat = [item for part in parts for item in (part, *getattr(part, "metadata", ()))]
    return any(getattr(item, "max_length", None) is not None for item in flat)


@pytest.mark.parametrize(
    "spec",
    [
        {"imagePullSecrets": [{"name": f"s{at}"} for at in range(10_000)]},
        {"tls": {"extraSANs": [f"a{at}.example.com" for at in range(10_000)]}},
        {"network": {"egressRules": [{}] * 10_000}},
        {"selfInit": {"enabled": True, "requests": [with_request()["requests"][0]] * 10_000}},
        {"serviceAccount": {"annotations": {f"a{at}": "" for at in range(10_000)}}},
        {"version": "1." * 10_000},
        {"image": "a" * 1_000_000},
        {"storage": {"size": "1" * 1_000_000}},
        {"runtime": {"restartAt": "x" * 1_000_000}},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_attack_t10_ten_thousand_of_anything_are_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidClusterError) as caught:
        OpenBaoCluster.from_object(cluster_object(**spec))
    assert len(caught.value.violations) == 1
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("depth", [LEVELS_MAX, 1000, 1001, 9000])
def test_attack_t10_deep_nesting_is_refused(depth: int) -> None:
    data: Any = 1
    for _ in range(depth):
        data = {"a": [data]} if depth % 2 else {"a": data}
    with pytest.raises(InvalidClusterError) as caught:
        OpenBaoCluster.from_object(cluster_object(selfInit=with_request(data=data)))
    (violation,) = caught.value.violations
    assert violation.field.startswith("spec.selfInit.requests[0].data")
    assert str(LEVELS_MAX) in violation.message


@pytest.mark.parametrize(
    "data_of",
    [
        lambda size: {f"k{at}": "v" for at in range(size)},
        lambda size: {"a": [{"b": at} for at in range(size)]},
        lambda size: {"a": {"b": ["x"] * size}},
        lambda size: {"a": "x" * size * 20},
    ],
    ids=["many keys", "many objects", "a long list", "a long text"],
)
def test_attack_t10_the_cost_of_free_data_is_linear(data_of: Any) -> None:
    small, large = (_work(_requests(8, data_of(size))) for size in (200, 400))
    assert large < 2.2 * small
    assert large < 100 * VALUES_MAX


def test_attack_t10_a_megabyte_of_tiny_values_is_refused_at_once() -> None:
    """The API server stores up to 1.5 MB; the operator does not read all of it."""
    data = {"a": [{"b": 1}] * 120_000}
    obj = _requests(1, data)
    with (
        CallCount() as count,
        pytest.raises(InvalidClusterError, match=f"at most {VALUES_MAX} values"),
    ):
        OpenBaoCluster.from_object(obj)
    assert count.calls < 10 * 240_000


def test_the_largest_sensible_spec_is_far_from_the_limit() -> None:
    assert not too_many(_requests(64, {f"k{at}": "v" for at in range(60)})["spec"], VALUES_MAX)


def test_attack_t10_the_cost_of_many_requests_is_linear() -> None:
    few, many = (_work(_requests(number, {"a": "b"})) for number in (32, 64))
    assert many < 2.2 * few


def _modules_that_import(name: str) -> set[str]:
    modules = set()
    for file in API.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) and name in {alias.name for alias in node.names}:
                modules.add(str(file.relative_to(API)))
    return modules


def test_attack_t10_no_backtracking_engine_reads_texts_of_users() -> None:
    assert _modules_that_import("re") == set(BACKTRACKING)


def test_the_models_use_the_linear_time_regex_engine() -> None:
    for model in models_of(ClusterSpec):
        assert model.model_config.get("regex_engine", "rust-regex") == "rust-regex"
    assert issubclass(ClusterSpec, ApiModel)


def test_an_exponential_pattern_is_matched_in_linear_time() -> None:
    assert not Pattern(r"^(a+)+$").found_in("a" * 5000 + "!")


def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    """Python's `$` matches before a final line break, that of the API server does not."""
    assert not Pattern("^a$").found_in("a\n")
