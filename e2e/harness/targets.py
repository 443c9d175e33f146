"""Changes the target or the credentials of backups temporarily."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from contracts.api.group import CLUSTERS
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Object
from e2e.harness.stores import CREDENTIALS
from runtime.builtin_kinds import SECRET


@contextmanager
def other_target(cluster: Cluster, target: Object) -> Iterator[None]:
    """Set another spec.backup.target until the end of the context."""
    before = cluster.live()["spec"]["backup"]["target"]
    _set_target(cluster, before, target)
    try:
        yield
    finally:
        _set_target(cluster, target, before)


def _set_target(cluster: Cluster, before: Object, target: Object) -> None:
    # A merge patch keeps other fields.
    gone = dict.fromkeys(before.keys() - target.keys())
    change = {"spec": {"backup": {"target": {**gone, **target}}}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)


@contextmanager
def with_credentials(cluster: Cluster, entries: Mapping[str, str]) -> Iterator[None]:
    """Use a credentials Secret with only these entries until the end of the context.

    It is a separate Secret, because the kubelet may mount the old content of a changed one.
    """
    name = f"{CREDENTIALS}-{uuid.uuid4().hex[:6]}"
    metadata = {"name": name, "namespace": cluster.namespace}
    cluster.api.create(SECRET, {"metadata": metadata, "stringData": dict(entries)})
    target = cluster.live()["spec"]["backup"]["target"]
    with other_target(cluster, {**target, "credentialsSecretRef": {"name": name}}):
        yield
