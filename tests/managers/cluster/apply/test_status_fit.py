"""managers.cluster.apply.status_fit: fields that are left out, cut, or kept."""

from typing import Any

import pytest

from contracts.api.cluster.status import AdminOpsStatus, ClusterStatus
from managers.cluster.apply.status_fit import ADMINOPS_DECISIONS, DECISIONS, fit

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "properties": {
        "phase": {"type": "string", "enum": ["Running"]},
        "workload": {"type": "object", "properties": {"a": TEXT}},
        "upgrade": {"type": "object", "properties": {"id": TEXT}},
    }
}
WHOLE = {"id": "1"}
MORE = {"id": "2", "more": "x"}
# sentence: (desired, stored, what is written)
ROWS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a part that does not fit is omitted": (
        {"phase": "Running", "new": 1},
        {},
        {"phase": "Running"},
    ),
    "an observation is truncated": (
        {"workload": {"a": "1", "b": "2"}},
        {},
        {"workload": {"a": "1"}},
    ),
    "a value that does not fit is omitted": ({"phase": "Newest"}, {"phase": "Running"}, {}),
    "a decision that fits is written": ({"upgrade": WHOLE}, {}, {"upgrade": WHOLE}),
    "a decision that does not fit does not start": ({"upgrade": MORE}, {}, {}),
    "a stored decision that no longer fits is kept": (
        {"upgrade": MORE},
        {"upgrade": WHOLE},
        {"upgrade": WHOLE},
    ),
    "a completed decision is removed": ({}, {"upgrade": WHOLE}, {}),
}


@pytest.mark.parametrize(("desired", "stored", "value"), ROWS.values(), ids=ROWS)
def test_fit(desired: Any, stored: Any, value: Any) -> None:
    assert fit(desired, stored, SCHEMA, DECISIONS) == value


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_a_status_that_fits_is_the_same_object(schema: Any) -> None:
    desired = {"phase": "Running", "upgrade": WHOLE}
    assert fit(desired, {}, schema, DECISIONS) is desired


def test_decisions_are_parts_of_the_status() -> None:
    def aliases(model: Any) -> set[str]:
        return {model_field.alias or name for name, model_field in model.model_fields.items()}

    assert aliases(ClusterStatus) >= DECISIONS
    assert aliases(AdminOpsStatus) >= ADMINOPS_DECISIONS
