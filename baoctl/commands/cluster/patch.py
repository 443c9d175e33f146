"""Applies the edit of a verb to a cluster, and reports the result.

Uses runtime.client.client and baoctl.commands.cluster.edits. Called by baoctl.verbs.edits and
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
    location_text,
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

ATTEMPTS_MAX: Final = 5
Confirm = Callable[[str], None]
"""Asks the user to type the name of a cluster. Raises click.UsageError for another name."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A verb and its target."""

    verb: str
    cluster: str = ""
    pod: str = ""
    """Selects the cluster of this pod if `cluster` is ""."""
    version: str = ""
    """Target of an upgrade."""
    dry_run: bool = False


def edit_cluster(request: EditRequest, access: Access, confirm: Confirm | None = None) -> str:
    """Apply the edit; return the result and the kubectl command. Raises RequestError."""

    async def run(api: Session) -> str:
        return await apply_edit(api, request, confirm)

    return run_in_session(request.verb, run, access)


async def apply_edit(api: Session, request: EditRequest, confirm: Confirm | None = None) -> str:
    """Apply the edit. Raises VerbError, and the errors of the client.

    It calls `confirm` once, before the first write, and only if the edit changes the cluster.
    """
    name = request.cluster or await _cluster_of(api, request.pod)
    for _ in range(ATTEMPTS_MAX):
        live = await read_cluster(api, name)
        argument = request.pod or request.version or rfc3339(api.clock.now())
        edit = edit_of(request.verb, live, argument)
        ops = operations(live, edit)
        qualified_name = f"{api.namespace}/{name}"
        if not ops:
            return clean_message(f"{qualified_name} unchanged: the spec already has this value")
        if confirm is not None and not request.dry_run:
            confirm(name)
            confirm = None
        try:
            await api.client.json_patch(
                CLUSTERS, key_of(live), ops, field_manager=FIELD_MANAGER, dry_run=request.dry_run
            )
        except (Conflict, PatchFailed):
            continue
        result = "would be patched" if request.dry_run else "patched"
        message = clean_message(f"{qualified_name} {result}: {edit.effect}")
        return f"{message}\n{as_kubectl(live, edit)}"
    raise RequestError(
        f"{name}: other clients changed it during {ATTEMPTS_MAX} attempts; try again"
    )


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
        for cluster in await read_clusters(api, all_namespaces=False)
        for name in fenced_pods(cluster)
    }
    if pod in fenced:
        return fenced[pod]
    servers = await api.client.list(POD, api.namespace, options=SERVERS)
    existing = sorted({*fenced, *(key_of(server).name for server in servers.items)})
    raise RequestError(
        f"{pod[:80]!r} is not a server in {await location_text(api, existing)}; see baoctl status",
        ExitCode.NOT_FOUND,
    )
