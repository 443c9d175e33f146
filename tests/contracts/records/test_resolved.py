"""The record that every builder receives."""

import dataclasses

import pytest

from tests import gen


def test_a_cluster_has_the_name_of_its_owner() -> None:
    meant = gen.resolved(gen.cluster("vault"))
    assert (meant.name, meant.namespace) == ("vault", gen.NAMESPACE)


def test_read_replicas_are_servers() -> None:
    assert gen.resolved(gen.cluster(replicas=3)).servers == 3
    assert gen.resolved(gen.cluster(replicas=3, readReplicas={"replicas": 2})).servers == 5


def test_a_resolved_cluster_is_frozen() -> None:
    meant = gen.resolved(gen.cluster())
    with pytest.raises(dataclasses.FrozenInstanceError):
        meant.replicas = 5  # type: ignore[misc]  # that is what is tested


def test_equal_specs_resolve_equally() -> None:
    assert gen.resolved(gen.cluster()) == gen.resolved(gen.cluster(replicas=3))
    assert gen.resolved(gen.cluster()) != gen.resolved(gen.cluster(replicas=5))
