"""Applies the edit of a verb to a cluster, and reports the result.

Uses runtime.client.client and baoctl.commands.cluster.edits. Called by baoctl.verbs.orders and
baoctl.commands.cluster.pause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from baoctl.commands.api_client import FIELD_MANAGER, RequestError, Session, run_in_session
from baoctl.commands.cluster.edits import as_kubectl, edit_of, operations
from baoctl.commands.cluster.fetch import (
    SERVERS,
    place_of,
    read_cluster,
    read_clusters,
)
from baoctl.commands.cluster.observed import fenced_pods
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.group import CLUSTERS
from contracts.conditions.message import clean_message
from contracts.naming import labels
from contracts.rfc3339 import rfc3339
from runtime.builtin_kinds import POD
from runtime.errors import Conflict, NotFound, PatchFailed
from runtime.types import Object, ObjectKey, key_of, labels_of

TRIES: Final = 5
Confirm = Callable[[str], None]
"""Asks the user to type the name of a cluster. Raises click.UsageError for another name."""


@dataclass(frozen=True, slots=True)
class ClusterOrder:
    """A verb and its target."""

    verb: str
    cluster: str = ""
    pod: str = ""
    """Selects the cluster of this pod if `cluster` is ""."""
    dry_run: bool = False


def carry_out(order: ClusterOrder, access: Access, confirm: Confirm | None = None) -> str:
    """Apply the edit; return the result and the kubectl command. Raises RequestError."""

    async def run(api: Session) -> str:
        return await apply_edit(api, order, confirm)

    return run_in_session(order.verb, run, access)


async def apply_edit(api: Session, order: ClusterOrder, confirm: Confirm | None = None) -> str:
    """Apply the edit. Raises VerbError, and the errors of the client.

    It calls `confirm` once, before the first write, and only if the edit changes the cluster.
    """
    name = order.cluster or await _cluster_of(api, order.pod)
    for _ in range(TRIES):
        live = await read_cluster(api, name)
        edit = edit_of(order.verb, live, order.pod or rfc3339(api.clock.now()))
        ops = operations(live, edit)
        home = f"{api.namespace}/{name}"
        if not ops:
            return clean_message(f"{home} unchanged: the spec already has this value")
        if confirm is not None and not order.dry_run:
            confirm(name)
            confirm = None
        try:
            await api.client.json_patch(
                CLUSTERS, key_of(live), ops, field_manager=FIELD_MANAGER, dry_run=order.dry_run
            )
        except (Conflict, PatchFailed):
            continue
        result = "would be patched" if order.dry_run else "patched"
        return f"{clean_message(f'{home} {result}: {edit.effect}')}\n{as_kubectl(live, edit)}"
    raise RequestError(f"{name}: other clients changed it during {TRIES} attempts; try again")


async def _cluster_of(api: Session, pod: str) -> str:
    try:
        live: Object = await api.client.get(POD, ObjectKey(api.namespace, pod), metadata_only=True)
    except NotFound:
        live = {}
    own = labels_of(live)
    if labels.CLUSTER in own and own.get(labels.COMPONENT) == labels.SERVER:
        return own[labels.CLUSTER]
    # A fenced pod may not exist, but the spec of its cluster contains its name.
    fenced = {
        name: key_of(cluster).name
        for cluster in await read_clusters(api, every_namespace=False)
        for name in fenced_pods(cluster)
    }
    if pod in fenced:
        return fenced[pod]
    servers = await api.client.list(POD, api.namespace, options=SERVERS)
    existing = sorted({*fenced, *(key_of(server).name for server in servers.items)})
    raise RequestError(
        f"{pod[:80]!r} is not a server in {await place_of(api, existing)}; see baoctl status",
        ExitCode.NOT_FOUND,
    )
