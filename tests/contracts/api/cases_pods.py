"""What the rules about where pods run refuse."""

from typing import Any

from contracts.api.rules.spec import AFFINITY_TEXT_MAX, AFFINITY_VALUES_MAX
from tests.contracts.api.case import Case


def _readers(affinity: dict[str, Any]) -> dict[str, Any]:
    template = {"scheduling": {"affinity": affinity}}
    return {"readReplicas": {"replicas": 1, "template": template}}


CODE_CASES: dict[str, Case] = {
    "an affinity to something that is no pod and no node": Case(
        "affinity-voters", "spec.scheduling.affinity", {"scheduling": {"affinity": {"moon": {}}}}
    ),
    "an affinity that is a data dump": Case(
        "affinity-voters",
        "spec.scheduling.affinity",
        {"scheduling": {"affinity": {"nodeAffinity": {"x": [1] * AFFINITY_VALUES_MAX}}}},
    ),
    "a text without end in an affinity": Case(
        "affinity-voters",
        "spec.scheduling.affinity",
        {"scheduling": {"affinity": {"nodeAffinity": {"x": "a" * (AFFINITY_TEXT_MAX + 1)}}}},
    ),
    "the same of read replicas": Case(
        "affinity-readers", "spec.readReplicas.template.scheduling.affinity", _readers({"moon": {}})
    ),
}
