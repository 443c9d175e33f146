"""A cluster and its observed state, from Kubernetes objects in a file or in the API server.

The observers of the operator parse the objects. The result lacks what only a running operator
reads: the followers that the leader reports, and the content of Secrets. Called by
baoctl.commands.upgrade.plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from baoctl.commands.upgrade.live_objects import DumpError
from baoctl.exit_codes import ExitCode
from baoctl.yaml_text import TextError, objects_of, read_documents
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.violation import InvalidClusterError, format_value
from contracts.naming import labels, names
from contracts.pools.voter_pool import ServerPool, serving_pool
from contracts.records.observed import Observed
from managers.cluster.observe.from_objects import (
    pod_facts,
    pool_facts,
    pvc_facts,
    stateful_set_facts,
)
from managers.cluster.owner import owner_of
from managers.cluster.resolve.resolve import is_initialized
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.types import Object, labels_of

_NAMESPACE = "default"
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of objects that no API server validated; the operator reads only validated objects."""


@dataclass(frozen=True, slots=True)
class ClusterDump:
    """One cluster and its observed state."""

    cluster: OpenBaoCluster
    observed: Observed
    kinds: frozenset[str]
    """Kinds of the objects in the dump. A missing kind may not have been dumped."""
    has_status: bool = True
    """False for a manifest, and for an object that the operator has not reconciled yet."""


def objects_in(dump: str | bytes) -> tuple[Object, ...]:
    """Return the objects of a YAML or JSON text, and those in its lists. Raises DumpError."""
    try:
        objects = objects_of(read_documents(dump))
        return tuple(obj for obj in objects if isinstance(obj.get("metadata"), dict))
    except TextError as error:
        raise DumpError(f"the dump cannot be read: {error}") from None


def read_dump(objects: Iterable[Object], key: str | None, now: datetime) -> ClusterDump:
    """Observe one cluster of a dump. `key` is namespace/name or name; None selects the only one.

    Raises DumpError if there is no such cluster, or several, and one of MALFORMED for objects that
    were not validated.
    """
    all_objects = tuple(objects)
    live = _choose([obj for obj in all_objects if obj.get("kind") == CLUSTER_KIND], key)
    return _cluster_dump(live, all_objects, now)


def expect_status(dump: ClusterDump) -> None:
    """Raise DumpError if the status does not show which version the servers run."""
    metadata = dump.cluster.metadata
    key = f"{CLUSTER_KIND} {metadata.namespace}/{metadata.name}"
    if not dump.has_status:
        raise DumpError(
            f"{key} has no status, so the version of its servers is unknown: dump the live objects "
            "instead of a manifest (kubectl get openbaocluster,sts,pods,pvc -o yaml), or read them "
            "with --cluster and without -f; for a new cluster, wait until the operator has "
            "reconciled it"
        )
    if not dump.cluster.status.initialized and is_initialized(dump.cluster, dump.observed):
        raise DumpError(
            f"{key}: status.initialized is not true, but its servers have data, so its status is "
            "incomplete: try again once the operator has written it"
        )


def _choose(clusters: list[Object], key: str | None) -> Object:
    by_key = {_key(cluster): cluster for cluster in clusters}
    if not by_key:
        raise DumpError(f"there is no {CLUSTER_KIND} in the dump", ExitCode.NOT_FOUND)
    if key is None:
        if len(by_key) > 1:
            text = f"there are several clusters; choose one with --cluster: {_name_list(by_key)}"
            raise DumpError(text, ExitCode.USAGE)
        return next(iter(by_key.values()))
    matches = [candidate for candidate in by_key if key in (candidate, candidate.partition("/")[2])]
    if not matches:
        text = f"there is no {CLUSTER_KIND} {key}, only {_name_list(by_key)}"
        raise DumpError(text, ExitCode.NOT_FOUND)
    if len(matches) > 1:
        names = _name_list(matches)
        text = f"there are several clusters {key}; choose one with --cluster: {names}"
        raise DumpError(text, ExitCode.USAGE)
    return by_key[matches[0]]


def _name_list(keys: Iterable[str]) -> str:
    return ", ".join(sorted(keys))


def _key(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{metadata.get('namespace') or _NAMESPACE}/{metadata.get('name')}"


def _cluster_dump(live: Object, objects: Iterable[Object], now: datetime) -> ClusterDump:
    key = _key(live)
    version = live.get("apiVersion")
    if version != API_VERSION:
        text = f"{CLUSTER_KIND} {key}: apiVersion {format_value(version)!r}: must be {API_VERSION}"
        raise DumpError(text, ExitCode.REFUSED)
    try:
        cluster = OpenBaoCluster.from_object(_with_defaults(live))
        names.stateful_set(cluster.metadata.name)
    except (InvalidClusterError, ValueError) as error:
        raise DumpError(f"InvalidSpec: {error}", ExitCode.REFUSED) from None
    observed, kinds = _observe(cluster, owner_of(_with_defaults(live)), objects, now)
    return ClusterDump(cluster, observed, kinds, has_status=bool(live.get("status")))


def _observe(
    cluster: OpenBaoCluster, owner: Owner, objects: Iterable[Object], now: datetime
) -> tuple[Observed, frozenset[str]]:
    voters = serving_pool(cluster)
    related = [
        obj
        for obj in objects
        if _key(obj).partition("/")[0] == owner.namespace
        and labels_of(obj).get(labels.CLUSTER) == owner.name
    ]
    by_kind: Mapping[str, list[Object]] = {
        kind: [obj for obj in related if obj.get("kind") == kind]
        for kind in (POD.kind, PVC.kind, STATEFUL_SET.kind)
    }
    pods, claims = by_kind[POD.kind], by_kind[PVC.kind]
    stateful_sets = {
        stateful_set["metadata"]["name"]: stateful_set
        for stateful_set in by_kind[STATEFUL_SET.kind]
    }
    read_pool = ServerPool(owner.name, reads=True)
    observed = Observed(
        now=now,
        stateful_set=stateful_set_facts(stateful_sets.get(voters.stateful_set)),
        pods=pod_facts(voters, pods),
        claims=pvc_facts(voters, claims),
        read=pool_facts(
            owner, read_pool, stateful_sets.get(read_pool.stateful_set), (pods, claims)
        ),
    )
    return observed, frozenset(kind for kind, items in by_kind.items() if items)


def _with_defaults(live: Object) -> Object:
    metadata = dict(live["metadata"])
    for field, default in (("namespace", _NAMESPACE), ("uid", ""), ("generation", 1)):
        metadata.setdefault(field, default)
    return {**live, "metadata": metadata}
