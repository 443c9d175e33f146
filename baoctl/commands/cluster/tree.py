"""`baoctl tree`: the objects of a cluster, each below its owner.

Uses rich through baoctl.commands.cluster.terminal. Called by baoctl.verbs.clusters and
baoctl.commands.bundle. It reads only the metadata of Secrets and ConfigMaps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from baoctl.commands.api_client import Session, run_in_session
from baoctl.commands.cluster.fetch import Reads, read_cluster
from baoctl.commands.cluster.observed import age, is_ready, moment, number, part, text
from baoctl.commands.cluster.rights import unread_text
from baoctl.commands.cluster.status import state_of
from baoctl.commands.cluster.terminal import BAD, BOLD, DIM, GOOD, present, safe
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.group import BACKUPS, CLUSTER_KIND, RESTORES
from contracts.naming import labels
from runtime.builtin_kinds import (
    CONFIG_MAP,
    INGRESS,
    JOB,
    NETWORK_POLICY,
    POD,
    POD_DISRUPTION_BUDGET,
    PVC,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
from runtime.client.listing import ListOptions
from runtime.types import Object, Resource, key_of, uid_of

KINDS: Final[tuple[Resource, ...]] = (
    STATEFUL_SET, POD, PVC, SERVICE, INGRESS, CONFIG_MAP, SECRET, SERVICE_ACCOUNT, ROLE,
    ROLE_BINDING, NETWORK_POLICY, POD_DISRUPTION_BUDGET, JOB, BACKUPS, RESTORES,
)  # fmt: skip
_METADATA_ONLY: Final = frozenset({SECRET.kind, CONFIG_MAP.kind})


@dataclass(frozen=True, slots=True)
class Node:
    """One object, and the objects that it owns."""

    kind: str
    name: str
    state: str
    good: bool | None
    age: str
    below: tuple[Node, ...] = ()


def tree(name: str, access: Access, *, output: str) -> ExitCode:
    """Print the objects of a cluster. Raises RequestError."""

    async def run(api: Session) -> tuple[Node, str]:
        live = await read_cluster(api, name)
        reads = Reads(api)
        listings = await asyncio.gather(*(_list(reads, kind, name) for kind in KINDS))
        objects = [obj for objects_of_kind in listings for obj in objects_of_kind]
        root = node_of({**live, "kind": CLUSTER_KIND}, objects, api.clock.now())
        return root, unread_text("Not shown", reads.denied, reads.rights)

    root, unread = run_in_session("tree", run, access)
    present(root, screen(root, unread), output)
    return ExitCode.GOOD


async def _list(reads: Reads, kind: Resource, cluster: str) -> tuple[Object, ...]:
    options = ListOptions(
        label_selector=f"{labels.CLUSTER}={cluster}", metadata_only=kind.kind in _METADATA_ONLY
    )
    items = await reads.list_objects(kind, reads.api.namespace, options)
    return tuple({**item, "kind": kind.kind} for item in items or ())


def node_of(cluster: Object, objects: Sequence[Object], now: datetime) -> Node:
    """Return the tree of a cluster; objects whose owner is not shown are on the first level."""
    uids = {uid_of(obj) for obj in objects}
    below: dict[str, list[Object]] = {}
    for obj in objects:
        owners = part(obj, "metadata").get("ownerReferences") or ()
        owner = next((ref.get("uid") for ref in owners if ref.get("uid") in uids), "")
        below.setdefault(str(owner), []).append(obj)
    return _node(cluster, below, now, frozenset())


def _node(
    obj: Object, below: Mapping[str, list[Object]], now: datetime, ancestors: frozenset[str]
) -> Node:
    root = obj.get("kind") == CLUSTER_KIND
    uid = "" if root else uid_of(obj)
    owned = () if uid in ancestors else below.get(uid, ())
    created = moment(obj, "metadata", "creationTimestamp")
    state, good = _state(obj)
    return Node(
        kind=str(obj.get("kind")),
        name=key_of(obj).name,
        state=state,
        good=good,
        age=age(now - created) if created else "",
        below=tuple(_node(child, below, now, ancestors | {uid}) for child in owned),
    )


def _state(obj: Object) -> tuple[str, bool | None]:
    status, kind = part(obj, "status"), obj.get("kind")
    if kind == POD.kind:
        completed = text(status, "phase") == "Succeeded"
        return ("ended", None) if completed else _pod_state(obj)
    if kind == STATEFUL_SET.kind:
        desired = number(part(obj, "spec").get("replicas"))
        ready = number(status.get("readyReplicas"))
        return f"{ready}/{desired} ready", ready >= desired
    if kind == CLUSTER_KIND:
        return text(status, "ready"), None
    phase = text(status, "phase")
    return phase, phase in ("Bound", "Completed") if phase else None


def _pod_state(pod: Object) -> tuple[str, bool]:
    return ("ready", True) if is_ready(pod) else (state_of(pod), False)


def screen(root: Node, unread: str = "") -> RenderableType:
    """Return the tree as text, followed by `unread`."""
    top = Tree(_line(root), guide_style=DIM)
    _add_children(top, root)
    return Group(top, Text(f"\n{unread}", DIM)) if unread else top


def _add_children(branch: Tree, node: Node) -> None:
    for child in node.below:
        _add_children(branch.add(_line(child)), child)


def _line(node: Node) -> Text:
    style = {True: GOOD, False: BAD, None: ""}[node.good]
    name = safe(f"{node.kind}/{node.name}", BOLD if node.kind == CLUSTER_KIND else "")
    return Text.assemble(name, "  ", safe(node.state, style), "  " if node.state else "", node.age)
