"""What the rules about where pods run refuse."""

from typing import Any

from contracts.api.rules.spec import AFFINITY_TEXT_MAX, AFFINITY_VALUES_MAX
from tests.contracts.api.case import Case


def _readers(affinity: dict[str, Any]) -> dict[str, Any]:
    template = {"scheduling": {"affinity": affinity}}
    return {"readReplicas": {"replicas": 1, "template": template}}


CODE_CASES: dict[str, Case] = {
    "an affinity of an unknown kind": Case(
        "affinity-voters", "spec.scheduling.affinity", {"scheduling": {"affinity": {"moon": {}}}}
    ),
    "an affinity with too many values": Case(
        "affinity-voters",
        "spec.scheduling.affinity",
        {"scheduling": {"affinity": {"nodeAffinity": {"x": [1] * AFFINITY_VALUES_MAX}}}},
    ),
    "an affinity with a text that is too long": Case(
        "affinity-voters",
        "spec.scheduling.affinity",
        {"scheduling": {"affinity": {"nodeAffinity": {"x": "a" * (AFFINITY_TEXT_MAX + 1)}}}},
    ),
    "an affinity of an unknown kind of read replicas": Case(
        "affinity-readers", "spec.readReplicas.template.scheduling.affinity", _readers({"moon": {}})
    ),
}
