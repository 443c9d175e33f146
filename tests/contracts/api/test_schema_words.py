"""contracts.api.schema_words: the message for a value of a wrong type."""

from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import InvalidClusterError
from tests.contracts.api.clusters import MANIFESTS, cluster, cluster_object

WRONG: dict[str, dict[str, Any]] = {
    "spec.version: must be a version of OpenBao, MAJOR.MINOR.PATCH, as in 2.7.2 (got 2.7)": {
        "version": "2.7"
    },
    "spec.paused: must be true or false (got [])": {"paused": []},
    "spec.paused: must be true or false (got maybe)": {"paused": "maybe"},
    "spec.replicas: must be a whole number (got [])": {"replicas": []},
    "spec.replicas: must be a whole number (got three)": {"replicas": "three"},
    "spec.replicas: must be a whole number (got 1.5)": {"replicas": 1.5},
    "spec.image: must be a string; put it between quotes (got 7)": {"image": 7},
    "spec.fencedPods: must be a list (got 7)": {"fencedPods": 7},
    "spec.backup: must be a mapping of fields (got 7)": {"backup": 7},
}


CONVERTED: dict[str, dict[str, Any]] = {
    "spec.replicas: must be a whole number; remove the quotes (got 3)": {"replicas": "3"},
    "spec.paused: must be true or false; remove the quotes (got true)": {"paused": "true"},
    "spec.paused: must be true or false (got 1)": {"paused": 1},
    "spec.replicas: must be a whole number (got true)": {"replicas": True},
}


@pytest.mark.parametrize(("message", "spec"), CONVERTED.items(), ids=CONVERTED)
def test_a_manifest_with_a_value_that_would_be_converted_is_refused(
    message: str, spec: dict[str, Any]
) -> None:
    with pytest.raises(InvalidClusterError) as refused:
        OpenBaoCluster.from_manifest(cluster_object(**spec))
    assert [str(violation) for violation in refused.value.violations] == [message]


@pytest.mark.parametrize("spec", [{"replicas": 3}, {"replicas": 3.0}, {"paused": True}])
def test_a_manifest_with_values_of_its_types_is_read(spec: dict[str, Any]) -> None:
    manifest = cluster_object(**spec)
    assert OpenBaoCluster.from_manifest(manifest) == OpenBaoCluster.from_object(manifest)


@pytest.mark.parametrize("name", MANIFESTS)
def test_every_valid_manifest_has_values_of_its_types(name: str) -> None:
    OpenBaoCluster.from_manifest(MANIFESTS[name])


@pytest.mark.parametrize(("message", "spec"), WRONG.items(), ids=WRONG)
def test_the_message_names_the_type(message: str, spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidClusterError) as refused:
        cluster(**spec)
    assert [str(violation) for violation in refused.value.violations] == [message]
