"""Reads a cluster and its related objects, as far as the rights of the user allow.

Uses runtime.client.client. Called by the verbs that read a cluster. Only the cluster itself has to
be readable: ClusterObservation.denied lists other reads that failed, and missing_rights the rights
that they require.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.cluster.observed import (
    LOG_MAX,
    ClusterObservation,
    Operator,
    is_ready,
    part,
    text,
)
from baoctl.commands.cluster.rights import POD_LOG, MissingRight
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.group import BACKUPS, CLUSTER_KIND, CLUSTERS, RESTORES
from contracts.naming import labels
from runtime.builtin_kinds import (
    ADMISSION_BINDING,
    ADMISSION_POLICY,
    CORE_EVENT,
    DEPLOYMENT,
    LEASE,
    NAMESPACE,
    POD,
    PVC,
    SECRET,
    STATEFUL_SET,
)
from runtime.client.listing import ListOptions
from runtime.errors import ApiError, Forbidden, NotFound, TransportError
from runtime.leader.shard import count_of_group, lease_of_shard, shard_of
from runtime.types import Object, ObjectKey, Resource, key_of, labels_of

OPERATOR: Final = "openbao-operator"
"""Name of the Deployment, and of the Lease without shards."""
EVENTS_MAX: Final = 500
LOG_LINES: Final = 20
LOG_SECONDS: Final = 120
"""Maximum age of the log lines of a ready server."""
LOGS_MAX: Final = 3
"""Maximum number of servers whose log is read."""
NAMES_MAX: Final = 10
_HOLDERS: Final = {"openbaobackup": BACKUPS, "openbaorestore": RESTORES}

DIAGNOSED_KINDS: Final = (POD, PVC, STATEFUL_SET, SECRET, CORE_EVENT)
"""Kinds whose objects `baoctl doctor` examines."""

SERVERS: Final = ListOptions(
    label_selector=f"{labels.COMPONENT}={labels.SERVER}", metadata_only=True
)
"""The server pods of all clusters, without the pods of Jobs."""

T = TypeVar("T")
Lists = Mapping[Resource, Sequence[Object] | None]
"""The objects of each kind; None if they cannot be read."""


@dataclass(slots=True)
class Reads:
    """Reads optional objects, and records the reads that failed."""

    api: Session
    denied: list[str] = field(default_factory=list)
    rights: list[MissingRight] = field(default_factory=list)

    async def attempt(self, what: str, right: MissingRight, read: Awaitable[T]) -> T | None:
        """Return the result of a read; None if there is no such object, or if the read fails.

        A failure is recorded.
        """
        try:
            return await read
        except NotFound:
            return None
        except (ApiError, TransportError) as error:
            self.record_failure(what, right, error)
            return None

    def record_failure(
        self, what: str, right: MissingRight, error: ApiError | TransportError
    ) -> None:
        """Record a read that failed, and the right if the API server denied the read."""
        self.denied.append(what)
        if isinstance(error, Forbidden):
            self.rights.append(right)

    async def list_objects(
        self, kind: Resource, namespace: str | None, options: ListOptions
    ) -> tuple[Object, ...] | None:
        """List objects; return None if they cannot be read, or the kind is not served."""
        right = MissingRight(namespace or "", "list", str(kind))
        listing = await self.attempt(
            kind.plural, right, self.api.client.list(kind, namespace, options=options)
        )
        return None if listing is None else tuple(listing.items)


async def read_clusters(api: Session, *, all_namespaces: bool) -> tuple[Object, ...]:
    """List the clusters of the namespace, or of all namespaces."""
    namespace = None if all_namespaces else api.namespace
    try:
        listing = await api.client.list(CLUSTERS, namespace)
    except NotFound:
        raise _not_served() from None
    return tuple(sorted(listing.items, key=lambda cluster: key_of(cluster)))


async def no_clusters_text(api: Session, access: Access) -> str:
    """Return the text for an empty list of clusters."""
    if access.all_namespaces:
        return "There is no cluster in any namespace. Apply a manifest."
    if await namespace_is_missing(api):
        return f"There is no namespace {api.namespace}. Choose a namespace with -n, or use -A."
    return (
        f"There is no cluster in namespace {api.namespace}. Apply a manifest, or choose a "
        "namespace with -n."
    )


async def namespace_is_missing(api: Session) -> bool:
    """Whether the namespace does not exist; False if the user may not read it."""
    try:
        await api.client.get(NAMESPACE, ObjectKey("", api.namespace), metadata_only=True)
    except NotFound as error:
        # A proxy may also respond with 404, but only the API server names the namespace.
        return f'"{api.namespace}"' in error.message
    except (ApiError, TransportError):
        pass
    return False


async def read_cluster(api: Session, name: str) -> Object:
    """Read a cluster. Raises RequestError with the existing clusters if it does not exist."""
    try:
        return await api.client.get(CLUSTERS, ObjectKey(api.namespace, name))
    except NotFound:
        others = [
            key_of(cluster).name for cluster in await read_clusters(api, all_namespaces=False)
        ]
    raise RequestError(
        f"there is no {CLUSTER_KIND} {name[:80]!r} in {await location_text(api, others)}; "
        "choose another namespace with -n, or list all clusters with baoctl status -A",
        ExitCode.NOT_FOUND,
    )


async def location_text(api: Session, existing: Sequence[str]) -> str:
    """Return the namespace and its objects, for the error about an object that does not exist."""
    if existing:
        more = f" and {len(existing) - NAMES_MAX} more" if len(existing) > NAMES_MAX else ""
        return f"namespace {api.namespace}, only {', '.join(existing[:NAMES_MAX])}{more}"
    if await namespace_is_missing(api):
        return f"namespace {api.namespace}, which does not exist"
    return f"namespace {api.namespace}, which has none"


def _not_served() -> RequestError:
    text = f"the API server does not serve {CLUSTER_KIND}: install the operator first"
    return RequestError(text, ExitCode.NOT_FOUND)


async def observe(api: Session, name: str) -> ClusterObservation:
    """Read the objects that `baoctl status` shows."""
    return await _observe(api, name, (POD, PVC, STATEFUL_SET))


async def examine(api: Session, name: str, operator_namespace: str) -> ClusterObservation:
    """Read the objects that `baoctl doctor` examines: also events, names of Secrets, logs."""
    observed = await _observe(api, name, DIAGNOSED_KINDS)
    return await with_related_objects(api, observed, operator_namespace)


async def _observe(api: Session, name: str, kinds: tuple[Resource, ...]) -> ClusterObservation:
    live = await read_cluster(api, name)
    by_cluster = ListOptions(label_selector=f"{labels.CLUSTER}={name}")
    options = {
        POD: ListOptions(label_selector=labels.selector_text(labels.servers(name))),
        SECRET: ListOptions(metadata_only=True),
        CORE_EVENT: ListOptions(limit=EVENTS_MAX),
    }
    reads = Reads(api)
    lists = await asyncio.gather(
        *(reads.list_objects(kind, api.namespace, options.get(kind, by_cluster)) for kind in kinds)
    )
    by_kind = dict(zip(kinds, lists, strict=True))
    return observation_of(live, by_kind, reads.rights, api.clock.now())


def observation_of(
    live: Object, lists: Lists, rights: Iterable[MissingRight], now: datetime
) -> ClusterObservation:
    """Return the observation of a cluster, from the lists of its namespace.

    `rights` are the missing rights; those for kinds outside DIAGNOSED_KINDS are ignored.
    """
    namespace, name = key_of(live)
    needed = set(map(str, DIAGNOSED_KINDS))
    selector = labels.servers(name).items()
    servers = (pod for pod in lists.get(POD) or () if selector <= labels_of(pod).items())
    secrets = lists.get(SECRET)
    return ClusterObservation(
        now=now,
        cluster=live,
        pods=tuple(sorted(servers, key=key_of)),
        claims=tuple(lists.get(PVC) or ()),
        stateful_sets=tuple(lists.get(STATEFUL_SET) or ()),
        secrets=None if secrets is None else tuple(key_of(secret).name for secret in secrets),
        events=tuple(
            event for event in lists.get(CORE_EVENT) or () if is_about_cluster(name, event)
        ),
        denied=tuple(kind.plural for kind in DIAGNOSED_KINDS if lists.get(kind, ()) is None),
        missing_rights=tuple(
            right for right in rights if right.namespace == namespace and right.resource in needed
        ),
    )


async def with_related_objects(
    api: Session, observed: ClusterObservation, operator_namespace: str
) -> ClusterObservation:
    """Add the logs of servers, the objects of the operator, and the holder of the lock."""
    reads = Reads(api)
    operator, logs, holder = await asyncio.gather(
        _operator(reads, operator_namespace, ObjectKey(observed.namespace, observed.name)),
        _logs(reads, observed),
        _holder_exists(reads, observed),
    )
    return replace(
        observed,
        logs=logs,
        lock_holder_exists=holder,
        operator=operator,
        denied=tuple(dict.fromkeys((*observed.denied, *reads.denied))),
        missing_rights=tuple(dict.fromkeys((*observed.missing_rights, *reads.rights))),
    )


def is_about_cluster(cluster: str, event: Object) -> bool:
    """Whether an event is about a cluster, or about an object whose name contains its name."""
    name = text(event, "involvedObject", "name")
    return name == cluster or name.startswith(f"{cluster}-") or f"-{cluster}-" in name


async def _operator(reads: Reads, namespace: str, cluster: ObjectKey) -> Operator:
    key = ObjectKey(namespace, OPERATOR)
    lease, deployment, policies, bindings = await asyncio.gather(
        _lease(reads, namespace, cluster),
        reads.attempt(
            "deployments of the operator",
            MissingRight(namespace, "get", str(DEPLOYMENT)),
            reads.api.client.get(DEPLOYMENT, key),
        ),
        reads.list_objects(ADMISSION_POLICY, None, ListOptions(metadata_only=True)),
        reads.list_objects(ADMISSION_BINDING, None, ListOptions()),
    )
    names = None if policies is None else tuple(key_of(policy).name for policy in policies)
    bound = (
        None
        if bindings is None
        else tuple(text(binding, "spec", "policyName") for binding in bindings)
    )
    return Operator(namespace, lease, deployment, names, bound)


async def _lease(reads: Reads, namespace: str, cluster: ObjectKey) -> Object | None:
    """Read the Lease of the process that reconciles this cluster; it may be that of a shard."""
    what, get = "leases of the operator", reads.api.client.get
    right = MissingRight(namespace, "get", str(LEASE))
    lease = await reads.attempt(what, right, get(LEASE, ObjectKey(namespace, OPERATOR)))
    shards = count_of_group(text(lease or {}, "spec", "holderIdentity"))
    if shards == 1:
        return lease
    name = lease_of_shard(OPERATOR, shard_of(cluster, shards))
    return await reads.attempt(what, right, get(LEASE, ObjectKey(namespace, name)))


async def _logs(reads: Reads, observed: ClusterObservation) -> dict[str, str]:
    # Also of ready servers: a server with a full volume or without a leader is ready.
    pods = sorted(observed.pods, key=is_ready)[:LOGS_MAX]
    logs = await asyncio.gather(*(_log(reads, pod) for pod in pods))
    return {key_of(pod).name: log for pod, log in zip(pods, logs, strict=True) if log}


async def _log(reads: Reads, pod: Object) -> str:
    key = key_of(pod)
    path = f"{POD.path(key.namespace, key.name)}/log"
    # Older messages of a ready server no longer apply.
    recent = f"&sinceSeconds={LOG_SECONDS}" if is_ready(pod) else ""
    try:
        content = await reads.api.client.get_raw(
            f"{path}?container=openbao&tailLines={LOG_LINES}&limitBytes={LOG_MAX}{recent}"
        )
    except Forbidden as error:
        reads.record_failure("logs", MissingRight(key.namespace, "get", POD_LOG), error)
        return ""
    except (ApiError, TransportError):
        # A container that has not started has no log.
        return ""
    return content.decode(errors="replace")[-LOG_MAX:]


async def _holder_exists(reads: Reads, observed: ClusterObservation) -> bool | None:
    kind, _, name = text(part(observed.status, "operationLock"), "holder").partition("/")
    resource = _HOLDERS.get(kind)
    if resource is None or not name:
        return None
    key = ObjectKey(observed.namespace, name)
    try:
        await reads.api.client.get(resource, key, metadata_only=True)
    except NotFound:
        return False
    except (ApiError, TransportError) as error:
        right = MissingRight(key.namespace, "get", str(resource))
        reads.record_failure(resource.plural, right, error)
        return None
    return True
