"""`baoctl version`: the versions of client, operator and servers, and a version skew.

Uses runtime.client.client. Called by baoctl.verbs.clusters and baoctl.commands.bundle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from baoctl import __version__
from baoctl.commands.api_client import Session, run_in_session
from baoctl.commands.cluster.fetch import (
    OPERATOR,
    Reads,
    namespace_is_missing,
    no_clusters_text,
    read_clusters,
)
from baoctl.commands.cluster.observed import parts, text
from baoctl.commands.cluster.rights import MissingRight, rights_text
from baoctl.commands.cluster.terminal import format_structured
from baoctl.options import Access
from contracts.conditions.message import clean_message
from runtime.builtin_kinds import DEPLOYMENT
from runtime.types import Object, ObjectKey, key_of


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of client, operator and servers."""

    client: str
    operator: str
    """Tag of its image; "" if it is unknown."""
    servers: tuple[str, ...]
    skew: str
    """Description of a version skew; "" if there is none."""
    missing_rights: tuple[MissingRight, ...] = ()
    """The right to read the Deployment of the operator, if the user lacks it."""


def versions(access: Access, *, client_only: bool, output: str, operator_namespace: str) -> str:
    """Return the output of the verb. Raises RequestError."""
    if client_only:
        result = Versions(__version__, "", (), "")
    else:

        async def run(api: Session) -> Versions:
            clusters = await read_clusters(api, all_namespaces=access.all_namespaces)
            if not clusters and not access.all_namespaces and await namespace_is_missing(api):
                click.echo(await no_clusters_text(api, access), err=True)
            reads, key = Reads(api), ObjectKey(operator_namespace, OPERATOR)
            right = MissingRight(operator_namespace, "get", str(DEPLOYMENT))
            deployment: Object | None = await reads.attempt(
                DEPLOYMENT.plural, right, api.client.get(DEPLOYMENT, key)
            )
            return replace(
                versions_of(deployment or {}, clusters), missing_rights=tuple(reads.rights)
            )

        result = run_in_session("version", run, access)
    return (
        format_structured(result, output)
        if output != "text"
        else _text(result, client_only=client_only)
    )


def versions_of(deployment: Object, clusters: Sequence[Object]) -> Versions:
    """Return the versions, and the skew of client and operator."""
    containers = parts(deployment, "spec", "template", "spec", "containers")
    image = text(containers[0], "image") if containers else ""
    name = image.partition("@")[0]
    tag = name.rpartition(":")[2] if ":" in name.rpartition("/")[2] else ""
    servers = tuple(
        f"{key_of(cluster).namespace}/{key_of(cluster).name} "
        f"{text(cluster, 'status', 'currentVersion') or 'not running yet'}"
        for cluster in clusters
    )
    same = not tag or _minor(tag) == _minor(__version__)
    skew = "" if same else f"client {__version__}, operator {tag}: use client {tag}"
    return Versions(__version__, tag, servers, skew)


def _minor(version: str) -> str:
    return ".".join(version.lstrip("v").split(".")[:2])


def _text(result: Versions, *, client_only: bool) -> str:
    lines = [f"client    {result.client}"]
    if not client_only:
        missing = rights_text(result.missing_rights)
        unknown = f"unknown; missing right: {missing}" if missing else "unknown"
        lines.append(f"operator  {result.operator or unknown}")
        lines += [f"servers   {server}" for server in result.servers]
    if result.skew:
        lines.append(f"skew      {result.skew}")
    return "".join(f"{clean_message(line)}\n" for line in lines)
