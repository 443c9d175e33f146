"""Conditions and readiness of objects."""

import pytest

from e2e.demo.objects import Object, holds, is_ready
from tests.demo.shapes import cluster, condition, pod, ready_pod

AVAILABLE = condition("Available", "True")


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(cluster(AVAILABLE), True, id="true and current"),
        pytest.param(cluster(), False, id="no such condition"),
        pytest.param(cluster(condition("Available", "False")), False, id="false"),
        pytest.param(cluster(condition("Available", "Unknown")), False, id="unknown"),
        pytest.param(cluster(AVAILABLE, generation=2), False, id="of an older generation"),
        pytest.param({"metadata": {"name": "new", "generation": 1}}, False, id="no status"),
    ],
)
def test_a_condition_holds_if_it_is_true_for_the_current_generation(
    obj: Object, expected: bool
) -> None:
    assert holds(obj, "Available") is expected


def test_a_terminating_pod_is_not_ready() -> None:
    obj = ready_pod("bao-0")
    assert is_ready(obj)
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not is_ready(obj)


def test_a_pod_without_conditions_is_not_ready() -> None:
    assert not is_ready(pod("bao-0"))
