"""contracts.api.schema_words: the message for a value of a wrong type."""

from typing import Any

import pytest

from contracts.api.violation import InvalidClusterError
from tests.contracts.api.clusters import cluster

WRONG: dict[str, dict[str, Any]] = {
    "spec.paused: must be true or false (got [])": {"paused": []},
    "spec.paused: must be true or false (got maybe)": {"paused": "maybe"},
    "spec.replicas: must be a whole number (got [])": {"replicas": []},
    "spec.replicas: must be a whole number (got three)": {"replicas": "three"},
    "spec.replicas: must be a whole number (got 1.5)": {"replicas": 1.5},
    "spec.image: must be a string; put it between quotes (got 7)": {"image": 7},
    "spec.fencedPods: must be a list (got 7)": {"fencedPods": 7},
    "spec.backup: must be a mapping of fields (got 7)": {"backup": 7},
}


@pytest.mark.parametrize(("message", "spec"), WRONG.items(), ids=WRONG)
def test_the_message_names_the_type(message: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidClusterError) as refused:
        cluster(**spec)
    assert [str(violation) for violation in refused.value.violations] == [message]
