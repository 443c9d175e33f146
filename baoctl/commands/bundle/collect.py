"""Reads what a support archive holds, as far as the rights of the user go. Decides nothing.

Uses runtime.client.client. Called by baoctl.commands.bundle.bundle. Only the cluster itself has to
be readable; everything else that is not is named in Collected.unread, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from baoctl.commands.api_client import Session
from baoctl.commands.bundle.contents import Collected, Unread
from baoctl.commands.cluster import tree
from baoctl.commands.cluster.fetch import is_about, read_cluster
from baoctl.commands.cluster.observed import number, parts, text
from contracts.api.group import BACKUPS, CLUSTER_KIND, RESTORES
from contracts.naming import labels
from runtime.builtin_kinds import CONFIG_MAP, EVENT, POD, SECRET
from runtime.client.listing import ListOptions
from runtime.errors import ApiError, NotFound, TransportError
from runtime.types import Object, ObjectKey, Resource, key_of

RUNS: Final[tuple[Resource, ...]] = (BACKUPS, RESTORES)
"""Listed whole: those of the past carry no label."""
KINDS: Final = tuple(one for one in tree.KINDS if one not in (CONFIG_MAP, SECRET, *RUNS))
"""Read as they are."""
OBJECTS_MAX: Final = 200
"""Objects of one kind; of ConfigMaps, which may be large, as many as below."""
CONFIG_MAPS_MAX: Final = 50
EVENTS_MAX: Final = 1000
PODS_MAX: Final = 30
"""Pods whose logs are read, and as many of the operator."""
LOG_BYTES: Final = 256 << 10
"""Of one container."""
_RESTARTED: Final = {True: "&previous=true", False: ""}

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
    unread: list[Unread] = field(default_factory=list)

    async def attempt(self, what: str, read: Awaitable[T]) -> T | None:
        try:
            return await read
        except (ApiError, TransportError) as error:
            self.unread.append(Unread(what, str(error)))
            return None

    async def listed(
        self, kind: Resource, namespace: str, options: ListOptions, most: int = OBJECTS_MAX
    ) -> tuple[Object, ...]:
        try:
            found = (await self.api.client.list(kind, namespace, options=options)).items
        except NotFound:
            # The API server does not serve that kind.
            return ()
        except (ApiError, TransportError) as error:
            self.unread.append(Unread(str(kind), str(error)))
            return ()
        objects = sorted(found, key=key_of)
        if len(objects) > most:
            why = f"only the first {most} of {len(objects)} are in the archive"
            self.unread.append(Unread(str(kind), why))
        return tuple({**one, "kind": kind.kind} for one in objects[:most])


async def collect(
    api: Session, name: str, operator_namespace: str, log_lines: int
) -> tuple[Collected, bytes]:
    """Read the cluster and its surroundings; also the version of the API server, "" if unread.

    Raises AskError without the cluster.
    """
    live = await read_cluster(api, name)
    reads, mine = _Reads(api), f"{labels.CLUSTER}={name}"
    kinds, runs, maps, version = await asyncio.gather(
        asyncio.gather(
            *(reads.listed(one, api.namespace, ListOptions(label_selector=mine)) for one in KINDS)
        ),
        asyncio.gather(*(reads.listed(one, api.namespace, ListOptions()) for one in RUNS)),
        _config_maps(reads, mine),
        reads.attempt("version of the API server", api.client.get_raw("/version", most=LOG_BYTES)),
    )
    secrets, events, operators = await asyncio.gather(
        reads.listed(SECRET, api.namespace, ListOptions(label_selector=mine, metadata_only=True)),
        reads.listed(EVENT, api.namespace, ListOptions(), EVENTS_MAX),
        reads.listed(
            POD, operator_namespace, ListOptions(label_selector=f"{labels.NAME}={labels.OPERATOR}")
        ),
    )
    objects = [one for listed in kinds for one in listed]
    of_cluster = [one for listed in runs for one in listed if text(one, "spec", "cluster") == name]
    pods = [one for one in objects if one["kind"] == POD.kind]
    requests = (*log_requests(pods), *log_requests(operators, "operator-"))
    logs = await asyncio.gather(*(_log(reads, one, log_lines) for one in requests))
    collected = Collected(
        cluster={**live, "kind": CLUSTER_KIND},
        objects=(*objects, *of_cluster, *maps),
        secrets=secrets,
        events=tuple(one for one in events if is_about(name, one)),
        logs={one.file: log for one, log in zip(requests, logs, strict=True) if log is not None},
        unread=tuple(reads.unread),
    )
    return collected, version or b""


def log_requests(pods: Sequence[Object], prefix: str = "") -> tuple[LogRequest, ...]:
    """Return which logs to read: of each container, and of its last run if it was restarted."""
    found = []
    for pod in pods[:PODS_MAX]:
        key = key_of(pod)
        restarts = {
            text(one, "name"): number(one.get("restartCount"))
            for field_ in ("containerStatuses", "initContainerStatuses")
            for one in parts(pod, "status", field_)
        }
        for container, count in sorted(restarts.items()):
            base = f"{prefix}{key.name}.{container}"
            found.append(LogRequest(key, container, False, base))
            if count:
                found.append(LogRequest(key, container, True, f"{base}.previous"))
    return tuple(found)


async def _config_maps(reads: _Reads, mine: str) -> tuple[Object, ...]:
    # One after the other: the list of a namespace may have hundreds of MiB.
    only = ListOptions(label_selector=mine, metadata_only=True)
    found = await reads.listed(CONFIG_MAP, reads.api.namespace, only, CONFIG_MAPS_MAX)
    kept = []
    for one in found:
        key = key_of(one)
        live = await reads.attempt(f"configmaps {key.name}", reads.api.client.get(CONFIG_MAP, key))
        if live is not None:
            kept.append({**live, "kind": CONFIG_MAP.kind})
    return tuple(kept)


async def _log(reads: _Reads, request: LogRequest, lines: int) -> str | None:
    path = POD.path(request.key.namespace, request.key.name, "log")
    query = (
        f"container={request.container}&tailLines={lines}&limitBytes={LOG_BYTES}"
        f"{_RESTARTED[request.previous]}"
    )
    found = await reads.attempt(
        f"log of {request.file}", reads.api.client.get_raw(f"{path}?{query}", most=2 * LOG_BYTES)
    )
    return None if found is None else found.decode(errors="replace")
