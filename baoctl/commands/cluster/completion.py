"""Lists the names of objects for the completion of a command line.

Uses runtime.client.client. Called by baoctl.verbs.access_options.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from baoctl.api_server_settings import api_server_settings
from baoctl.commands.api_client import RequestError, Session, open_session
from baoctl.commands.cluster.fetch import SERVERS
from baoctl.commands.cluster.observed import fenced_pods, text
from baoctl.kubeconfig_contexts import context_names
from baoctl.options import Access
from baoctl.variables import SettingError
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.datacenter import names as datacenter_names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from runtime.builtin_kinds import NAMESPACE, POD, SERVICE_ACCOUNT
from runtime.client.listing import ListOptions
from runtime.clock import Deadline, SystemClock
from runtime.errors import ApiError, TransportError
from runtime.types import Object, Resource, key_of, labels_of

SECONDS: Final = 3.0
"""Time limit: the shell does not respond until the completion ends."""
_METADATA: Final = ListOptions(metadata_only=True)

Read = Callable[[Session, str | None], Awaitable[Iterable[str]]]


def object_names(objects: str, access: Access, cluster: str | None = None) -> tuple[str, ...]:
    """Return the names of these objects; () if they cannot be read in time.

    `cluster` is the cluster of the command line, if it comes before the word to complete.
    """

    try:
        return asyncio.run(_read(objects, access, cluster))
    except (ApiError, RequestError, SettingError, TimeoutError, TransportError):
        return ()


def names_of_contexts(access: Access) -> tuple[str, ...]:
    """Return the contexts of the kubeconfig. It sends no request."""
    try:
        return context_names(access.kubeconfig or api_server_settings().kubeconfig or "")
    except SettingError:
        return ()


async def _read(objects: str, access: Access, cluster: str | None) -> tuple[str, ...]:
    clock = SystemClock()
    # The limit includes a credential plugin, which may wait for the user.
    async with Deadline(clock, SECONDS), open_session("completion", clock, access) as api:
        return tuple(sorted(await _READS[objects](api, cluster)))


def _names_of(kind: Resource, options: ListOptions = _METADATA) -> Read:
    async def read(api: Session, _: str | None) -> Iterable[str]:
        namespace = api.namespace if kind.namespaced else None
        listing = await api.client.list(kind, namespace, options=options)
        return (key_of(obj).name for obj in listing.items)

    return read


async def _backups(api: Session, cluster: str | None) -> Iterable[str]:
    """Return the backups that can be restored."""
    listing = await api.client.list(BACKUPS, api.namespace)
    return (
        key_of(backup).name
        for backup in listing.items
        if text(backup, "status", "phase") == "Completed"
        and cluster in (None, text(backup, "spec", "cluster"))
    )


async def _fenced_pods(api: Session, _: str | None) -> Iterable[str]:
    """Return the pods in the specs, because a fenced pod may not exist."""
    listing = await api.client.list(CLUSTERS, api.namespace)
    return {pod for cluster in listing.items for pod in fenced_pods(cluster)}


async def _services(api: Session, _: str | None) -> Iterable[str]:
    listing = await api.client.list(WORKLOADS, options=_METADATA)
    return map(_service, listing.items)


def _service(workload: Object) -> str:
    datacenter = labels_of(workload).get(datacenter_names.DATACENTER, "")
    prefix = datacenter_names.workload_name(datacenter, "")
    return f"{datacenter}/{key_of(workload).name.removeprefix(prefix)}"


_READS: Final[Mapping[str, Read]] = {
    "backups": _backups,
    "clusters": _names_of(CLUSTERS),
    "datacenters": _names_of(DATACENTERS),
    "fenced pods": _fenced_pods,
    "namespaces": _names_of(NAMESPACE),
    "servers": _names_of(POD, SERVERS),
    "service accounts": _names_of(SERVICE_ACCOUNT),
    "services": _services,
}
