"""Reads the content of a support archive, as far as the rights of the user allow.

Uses runtime.client.client. Called by baoctl.commands.bundle.bundle. Only the cluster itself has to
be readable; Collected.unread lists all other reads that failed, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from baoctl.commands.api_client import Session
from baoctl.commands.bundle.contents import Collected, MissingPart
from baoctl.commands.cluster import tree
from baoctl.commands.cluster.fetch import Lists, is_about_cluster, observation_of, read_cluster
from baoctl.commands.cluster.observed import ClusterObservation, number, parts, text
from baoctl.commands.cluster.rights import MissingRight
from contracts.api.group import BACKUPS, CLUSTER_KIND, RESTORES
from contracts.naming import labels
from runtime.builtin_kinds import CONFIG_MAP, CORE_EVENT, POD, SECRET
from runtime.client.listing import LIST_ALL, ListOptions
from runtime.errors import ApiError, Forbidden, NotFound, TransportError
from runtime.types import Object, ObjectKey, Resource, key_of, labels_of

RUNS: Final[tuple[Resource, ...]] = (BACKUPS, RESTORES)
"""Listed without a selector: old objects have no label."""
KINDS: Final = tuple(kind for kind in tree.KINDS if kind not in (CONFIG_MAP, SECRET, *RUNS))
"""Kinds that are read completely."""
OBJECTS_MAX: Final = 200
"""Maximum objects of one kind; ConfigMaps, which may be large, have their own limit."""
CONFIG_MAPS_MAX: Final = 50
EVENTS_MAX: Final = 1000
PODS_MAX: Final = 30
"""Maximum pods whose logs are read, of the cluster and of the operator each."""
LOG_BYTES: Final = 256 << 10
"""Maximum bytes of the log of one container."""
_PREVIOUS_QUERY: Final = {True: "&previous=true", False: ""}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The log of one container."""

    key: ObjectKey
    container: str
    previous: bool
    file: str


@dataclass(slots=True)
class _Reads:
    api: Session
    unread: list[MissingPart] = field(default_factory=list)
    rights: list[MissingRight] = field(default_factory=list)
    """The rights that failed lists require."""

    async def attempt(self, part: str, read: Awaitable[T]) -> T | None:
        try:
            return await read
        except (ApiError, TransportError) as error:
            self.unread.append(MissingPart(part, str(error)))
            return None

    async def list_objects(
        self, kind: Resource, namespace: str, options: ListOptions = LIST_ALL
    ) -> tuple[Object, ...] | None:
        """Return all objects, sorted by name; None if they cannot be read."""
        try:
            items = (await self.api.client.list(kind, namespace, options=options)).items
        except NotFound:
            # The API server does not serve that kind.
            return ()
        except (ApiError, TransportError) as error:
            self.unread.append(MissingPart(str(kind), str(error)))
            if isinstance(error, Forbidden):
                self.rights.append(MissingRight(namespace, "list", str(kind)))
            return None
        return tuple({**item, "kind": kind.kind} for item in sorted(items, key=key_of))

    def first_objects(
        self, kind: Resource, objects: Sequence[Object] | None, most: int = OBJECTS_MAX
    ) -> Sequence[Object]:
        """Return the first objects, at most `most`, and record the rest as unread."""
        if objects is None or len(objects) <= most:
            return objects or ()
        reason = f"only the first {most} of {len(objects)} are in the archive"
        self.unread.append(MissingPart(str(kind), reason))
        return objects[:most]


@dataclass(frozen=True, slots=True)
class BundleReading:
    """The objects and logs that were read; each object is read once."""

    collected: Collected
    observed: ClusterObservation
    """The same objects for a diagnosis, without logs and without the objects of the operator."""
    server_version: bytes
    """Response of the API server to GET /version; empty if unread."""


async def collect(
    api: Session, name: str, operator_namespace: str, log_lines: int
) -> BundleReading:
    """Read the cluster and its related objects. Raises RequestError if it does not exist."""
    live = await read_cluster(api, name)
    reads, selector = _Reads(api), f"{labels.CLUSTER}={name}"
    lists, runs, maps, version = await asyncio.gather(
        asyncio.gather(
            *(
                reads.list_objects(kind, api.namespace, ListOptions(label_selector=selector))
                for kind in KINDS
            )
        ),
        asyncio.gather(*(reads.list_objects(run, api.namespace) for run in RUNS)),
        _config_maps(reads, selector),
        reads.attempt("version of the API server", api.client.get_raw("/version", most=LOG_BYTES)),
    )
    secrets, events, pods_of_operator = await asyncio.gather(
        # All Secrets of the namespace, because those that users create have no label.
        reads.list_objects(SECRET, api.namespace, ListOptions(metadata_only=True)),
        reads.list_objects(CORE_EVENT, api.namespace),
        reads.list_objects(
            POD, operator_namespace, ListOptions(label_selector=f"{labels.NAME}={labels.OPERATOR}")
        ),
    )
    by_kind: Lists = {**dict(zip(KINDS, lists, strict=True)), SECRET: secrets, CORE_EVENT: events}
    objects = [obj for kind in KINDS for obj in reads.first_objects(kind, by_kind[kind])]
    runs_of_cluster = [
        run
        for kind, objects_of_kind in zip(RUNS, runs, strict=True)
        for run in reads.first_objects(kind, objects_of_kind)
        if text(run, "spec", "cluster") == name
    ]
    pods = [obj for obj in objects if obj["kind"] == POD.kind]
    operator_pods = reads.first_objects(POD, pods_of_operator)
    requests = (*log_requests(pods), *log_requests(operator_pods, "operator-"))
    logs = await asyncio.gather(*(_log(reads, request, log_lines) for request in requests))
    own_secrets = [
        secret for secret in secrets or () if labels_of(secret).get(labels.CLUSTER) == name
    ]
    collected = Collected(
        cluster={**live, "kind": CLUSTER_KIND},
        objects=(*objects, *runs_of_cluster, *maps),
        secrets=tuple(reads.first_objects(SECRET, own_secrets)),
        events=tuple(
            event
            for event in reads.first_objects(CORE_EVENT, events, EVENTS_MAX)
            if is_about_cluster(name, event)
        ),
        logs={
            request.file: log
            for request, log in zip(requests, logs, strict=True)
            if log is not None
        },
        unread=tuple(reads.unread),
    )
    observed = observation_of(live, by_kind, reads.rights, api.clock.now())
    return BundleReading(collected, observed, version or b"")


def log_requests(pods: Sequence[Object], prefix: str = "") -> tuple[LogRequest, ...]:
    """Return the logs to read: that of each container, and that of its last run if it restarted."""
    requests = []
    for pod in pods[:PODS_MAX]:
        key = key_of(pod)
        restarts = {
            text(status, "name"): number(status.get("restartCount"))
            for field_ in ("containerStatuses", "initContainerStatuses")
            for status in parts(pod, "status", field_)
        }
        for container, count in sorted(restarts.items()):
            base = f"{prefix}{key.name}.{container}"
            requests.append(LogRequest(key, container, False, base))
            if count:
                requests.append(LogRequest(key, container, True, f"{base}.previous"))
    return tuple(requests)


async def _config_maps(reads: _Reads, selector: str) -> tuple[Object, ...]:
    # One at a time, because a list with the content may be hundreds of MiB large.
    options = ListOptions(label_selector=selector, metadata_only=True)
    metadata = await reads.list_objects(CONFIG_MAP, reads.api.namespace, options)
    config_maps = []
    for config_map in reads.first_objects(CONFIG_MAP, metadata, CONFIG_MAPS_MAX):
        key = key_of(config_map)
        live = await reads.attempt(f"configmaps {key.name}", reads.api.client.get(CONFIG_MAP, key))
        if live is not None:
            config_maps.append({**live, "kind": CONFIG_MAP.kind})
    return tuple(config_maps)


async def _log(reads: _Reads, request: LogRequest, lines: int) -> str | None:
    path = POD.path(request.key.namespace, request.key.name, "log")
    query = (
        f"container={request.container}&tailLines={lines}&limitBytes={LOG_BYTES}"
        f"{_PREVIOUS_QUERY[request.previous]}"
    )
    content = await reads.attempt(
        f"log of {request.file}", reads.api.client.get_raw(f"{path}?{query}", most=2 * LOG_BYTES)
    )
    return None if content is None else content.decode(errors="replace")
