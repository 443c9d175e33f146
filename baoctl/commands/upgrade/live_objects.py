"""The arguments of `baoctl upgrade plan`, and the live objects that it reads.

Uses runtime.client.client. Called by baoctl.verbs.upgrade before it imports
baoctl.commands.upgrade.plan, which imports the state machine of the operator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import semver

from baoctl.commands.api_client import Session, run_in_session
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import Access
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.naming import labels
from contracts.server_features import VERSION_MAX, VERSION_PATTERN
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.client.listing import ListOptions
from runtime.types import Object

VERSION: Final = "must be a version of OpenBao, MAJOR.MINOR.PATCH, as in 2.7.2"


class DumpError(VerbError):
    """The dump cannot be read, or does not contain the cluster."""


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A cluster and its objects, as read from the API server."""

    key: str
    """namespace/name."""
    objects: tuple[Object, ...]


def is_version(text: str) -> bool:
    """Whether a text is a valid spec.version."""
    return (
        len(text) <= VERSION_MAX
        and bool(re.fullmatch(VERSION_PATTERN, text))
        and semver.Version.is_valid(text.removeprefix("v"))
    )


def read_live(cluster: str | None, access: Access) -> LiveCluster:
    """Read a cluster, name or namespace/name, and its objects. Raises VerbError."""
    if cluster is None:
        text = "choose a cluster, as in upgrade plan NAMESPACE/NAME, or a dump with -f"
        raise DumpError(text, ExitCode.USAGE)
    namespace, slash, name = cluster.rpartition("/")
    if slash and access.namespace not in (None, namespace):
        text = f"{cluster[:80]} and -n {access.namespace} are different namespaces"
        raise DumpError(f"{text}; use one of them", ExitCode.USAGE)

    async def run(api: Session) -> LiveCluster:
        return LiveCluster(f"{api.namespace}/{name}", await fetch(api, name))

    chosen = replace(access, namespace=namespace) if slash else access
    return run_in_session("upgrade-plan", run, chosen)


async def fetch(api: Session, name: str) -> tuple[Object, ...]:
    """Read a cluster and its objects from the API server.

    Raises RequestError, which lists the existing clusters, if it does not exist, and the errors of
    the client.
    """
    live = await read_cluster(api, name)
    by_cluster = ListOptions(label_selector=f"{labels.CLUSTER}={name}")
    objects: list[Object] = []
    for kind in (STATEFUL_SET, POD, PVC):
        response = await api.client.list(kind, api.namespace, options=by_cluster)
        objects += [{**item, "kind": kind.kind} for item in response.items]
    return ({**live, "apiVersion": API_VERSION, "kind": CLUSTER_KIND}, *objects)
