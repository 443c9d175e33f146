"""Manifests of users: they are read completely, break no rule, and use every field together."""

from collections.abc import Iterator
from typing import Any

import pytest

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.cluster import violations
from tests.contracts.api.clusters import MANIFESTS, Object
from tests.contracts.api.models import holds, models_of

each_manifest = pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS.keys())


@each_manifest
def test_reading_keeps_every_field(manifest: Object) -> None:
    read = OpenBaoCluster.from_object(manifest)
    assert holds(read.spec.to_object(), manifest["spec"])


@each_manifest
def test_the_manifests_break_no_rule(manifest: Object) -> None:
    assert violations(OpenBaoCluster.from_object(manifest)) == ()


def _models(value: Any) -> Iterator[ApiModel]:
    if isinstance(value, ApiModel):
        yield value
        for _, part in value:
            yield from _models(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from _models(part)


def test_every_field_is_used_by_some_manifest() -> None:
    """Otherwise a check of the manifests could pass because no manifest has the field."""
    used = {
        (type(model), name)
        for manifest in MANIFESTS.values()
        for model in _models(OpenBaoCluster.from_object(manifest).spec)
        for name in model.model_fields_set
    }
    known = {(model, name) for model in models_of(ClusterSpec) for name in model.model_fields}
    unused = sorted(f"{model.__name__}.{name}" for model, name in known - used)
    assert unused == []
