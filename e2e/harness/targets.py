"""Changing for a while where snapshots go, or with which credentials."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from contracts.api.group import CLUSTERS
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Object
from e2e.harness.stores import CREDENTIALS, Store
from runtime.resources import SECRET


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
def with_credentials(
    cluster: Cluster, entries: Mapping[str, str | None], store: Store
) -> Iterator[None]:
    """Let the Secret of the store hold these entries, and no others, until the end of the block."""
    _set_entries(cluster, {**dict.fromkeys(store.secret()), **entries})
    try:
        yield
    finally:
        _set_entries(cluster, {**dict.fromkeys(entries), **store.secret()})


def _set_entries(cluster: Cluster, entries: Mapping[str, str | None]) -> None:
    gone = {name: None for name, text in entries.items() if text is None}
    there = {name: text for name, text in entries.items() if text is not None}
    change = {"data": gone, "stringData": there}
    cluster.api.patch(SECRET, cluster.namespace, CREDENTIALS, change)
