"""Changing for a while where snapshots go, or with which credentials."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from contracts.api.group import CLUSTERS
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Object
from e2e.harness.stores import CREDENTIALS
from runtime.builtin_kinds import SECRET


@contextmanager
def retargeted(cluster: Cluster, target: Object) -> Iterator[None]:
    """Let spec.backup.target be another one until the end of the block."""
    before = cluster.live()["spec"]["backup"]["target"]
    _set_target(cluster, before, target)
    try:
        yield
    finally:
        _set_target(cluster, target, before)


def _set_target(cluster: Cluster, before: Object, target: Object) -> None:
    # A merge patch keeps what it does not name.
    gone = dict.fromkeys(before.keys() - target.keys())
    change = {"spec": {"backup": {"target": {**gone, **target}}}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)


@contextmanager
def with_credentials(cluster: Cluster, entries: Mapping[str, str]) -> Iterator[None]:
    """Let the store be opened with these entries, and no others, until the end of the block.

    They are a Secret of their own: of one that changes, the kubelet may still mount what it held.
    """
    name = f"{CREDENTIALS}-{uuid.uuid4().hex[:6]}"
    metadata = {"name": name, "namespace": cluster.namespace}
    cluster.api.create(SECRET, {"metadata": metadata, "stringData": dict(entries)})
    target = cluster.live()["spec"]["backup"]["target"]
    with retargeted(cluster, {**target, "credentialsSecretRef": {"name": name}}):
        yield
