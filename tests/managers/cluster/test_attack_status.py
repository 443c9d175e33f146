"""A user with edit rights writes to the status (reliability T13): the operator corrects it.

Every field, and every field of the conditions, with four kinds of corruption each. The status is a
report; fields that also affect decisions (data exists, accepted version) must survive a forgery.
"""

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from runtime.builtin_kinds import PVC, SECRET, STATEFUL_SET
from runtime.types import Object
from tests.managers.cluster.bench import Bench

GONE = object()
# field: (wrong type, right type with a wrong value, far beyond any bound)
LIES: dict[str, tuple[Any, Any, Any]] = {
    "observedGeneration": ("one", 99, -1),
    "phase": (7, "Failed", "x" * 5000),
    "activeLeader": (7, "x-2", "\x1b[31m\n" * 500),
    "ready": (3, "0/3", "9" * 50),
    "readyReplicas": ("3", 0, -5),
    "replicas": ("3", 7, -5),
    "selector": (7, "app=other", "x" * 5000),
    "sealed": (True, "true", "x" * 5000),
    "currentVersion": (7, "9.9.9", "1" * 500),
    "initialized": ("yes", False, None),
    "conditions": ("none", [], [{"type": "Ready"}]),
}
CORRUPTIONS = [(field, value) for field, values in LIES.items() for value in (*values, GONE)]


def corrupt(part: Object, field: str, value: Any) -> None:
    """Replace a field of a status, or remove it."""
    del part[field]
    if value is not GONE:
        part[field] = value


def case_id(case: Any) -> str:
    return "gone" if case is GONE else repr(case)[:20]


def without_times(live: Object) -> Object:
    """The status without times."""
    status = copy.deepcopy(live["status"])
    for condition in status["conditions"]:
        del condition["lastTransitionTime"]
    return dict(status)


async def recovers(bench: Bench, spoil: Object) -> None:
    before, things = without_times(bench.cluster), belongings(bench)
    spoiled = copy.deepcopy(bench.cluster)
    spoiled["status"] = spoil
    bench.api.with_objects((CLUSTERS, spoiled))
    await bench.until_quiet(after=30.0)
    assert without_times(bench.cluster) == before
    assert belongings(bench) == things


def belongings(bench: Bench) -> list[tuple[str, str, str]]:
    """Objects that no forged status may change: keys, volumes, StatefulSet and template."""
    results = []
    for kind in (SECRET, PVC, STATEFUL_SET):
        for obj in bench.api.of(kind):
            template = str(obj.get("spec", {}).get("template", ""))
            results.append((obj["metadata"]["name"], obj["metadata"]["uid"], template))
    return sorted(results)


@pytest.mark.parametrize(("field", "value"), CORRUPTIONS, ids=case_id)
async def test_attack_t13_a_wrong_field_is_corrected(bench: Bench, field: str, value: Any) -> None:
    status = copy.deepcopy(bench.cluster["status"])
    corrupt(status, field, value)
    await recovers(bench, status)


@pytest.mark.parametrize("field", ["type", "status", "reason", "message", "observedGeneration"])
@pytest.mark.parametrize("value", [7, "", "Other\n\x1b[31m", GONE], ids=case_id)
async def test_attack_t13_a_condition_is_corrected(bench: Bench, field: str, value: Any) -> None:
    status = copy.deepcopy(bench.cluster["status"])
    for condition in status["conditions"]:
        corrupt(condition, field, value)
    await recovers(bench, status)


@pytest.mark.parametrize("value", [{}, {"phase": "Running"}], ids=case_id)
async def test_attack_t13_a_whole_corrupt_status_is_corrected(bench: Bench, value: Any) -> None:
    await recovers(bench, value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("operation", {"kind": "Rolling", "done": 1, "total": 3, "summary": "Rolling 1/3"}),
        ("workload", {"rollingSince": "2001-01-01T00:00:00Z"}),
        ("workload", {"lastError": {"reason": "SelfInitFailed", "message": "a lie"}}),
        ("unseal", {"keys": "other", "step": "Settled"}),
        ("lastBackupTime", "2001-01-01T00:00:00Z"),
    ],
)
async def test_attack_t13_invented_fields_are_removed(bench: Bench, field: str, value: Any) -> None:
    """The API server drops fields that a manager no longer applies; here we apply them first."""
    before = without_times(bench.cluster)
    spoiled = copy.deepcopy(bench.cluster)
    spoiled["status"][field] = value
    bench.api.with_objects((CLUSTERS, spoiled))
    await bench.turn(after=30.0)
    written = [call.body["status"] for call in bench.api.calls if call.verb == "apply/status"]
    assert written
    for body in written:
        assert body.get(field) == before.get(field)
        assert body["phase"] == before["phase"]
