"""Facts about one cluster, read at the start of a reconcile; frozen, without any judgement.

Made by `managers.cluster.observe.observer`; read by resolve, plan and status. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from contracts.naming.labels import Registration
from contracts.records.container_history import ContainerExit, Reload
from contracts.records.environment import NO_ENDPOINTS, AccountFacts, AdmissionFacts, ApiEndpoints
from contracts.records.exposure import NO_FACTS, ExposureFacts
from contracts.records.foreign_stateful_set import ForeignObject, ForeignStatefulSet, Pairs
from contracts.records.secrets import SecretFacts
from contracts.records.upgrade import NO_FACTS as NO_UPGRADE
from contracts.records.upgrade import UpgradeFacts


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One server pod."""

    name: str
    uid: str
    ordinal: int
    ip: str
    ready: bool
    terminating: bool
    template: str
    """Digest of the pod template that this pod was made from (annotation, "" if absent)."""
    restarts: int
    last_exit: ContainerExit | None
    waiting: str
    """Why the container does not run, in the kubelet's words; "" when it runs."""
    registration: Registration
    """What the server says of itself in its pod's labels: a hint, never a proof."""
    tls_secret: str = ""
    """The Secret that it mounts as certificate and key, "" for none."""
    serves: str | None = None
    """Fingerprint of the certificate that it served last; "" when it did not answer, None when it
    was not asked."""
    reload_hash: str = ""
    """Hash of the reloadable files when the pod was made (annotation, "" if absent)."""
    reloads: tuple[Reload, ...] = ()
    """Every attempt to reload, in the order in which they were asked for."""
    unseal: str = ""
    """Keys of the static seal that its server knows (annotation, "" if absent)."""
    rewrapped: str = ""
    """Key with which it rewrapped the root key when it led (annotation, "" if absent)."""
    gated: bool = False
    """The scheduler must not place it yet: its spec has a scheduling gate."""
    node: str = ""
    """Node that it runs on; "" while it has none."""
    leaves_at: datetime | None = None
    """When its time to end is over, if it is terminating (metadata.deletionTimestamp)."""
    maintenance: bool = False
    """It carries the mark of spec.maintenance."""
    made: datetime | None = None
    """When it was made (metadata.creationTimestamp)."""
    service_account: str = ""
    """The ServiceAccount that it runs under."""
    restored: str = ""
    """UID of the last restore when it was made (annotation, "" if absent)."""
    fence_gate: bool = False
    """Our own scheduling gate is among those in its spec: its server cannot start."""
    first_set: bool = False
    """Clients find it by the label of the pool without a revision."""
    image: str = ""
    """Image of its server, as its spec names it."""
    labels: Pairs = ()
    """Those by which objects of the operator find it."""
    controller: str = ""
    """UID of its StatefulSet; "" while it has none."""


@dataclass(frozen=True, slots=True)
class StatefulSetFacts:
    """The live StatefulSet."""

    uid: str
    replicas: int
    ready_replicas: int
    template: str
    """Digest annotation of the pod template."""
    reload_hash: str
    """Hash annotation of the files that new pods read, and that older ones may read again."""
    first_boot: bool
    """Its template still carries the `initialize` document."""
    settled: bool
    """The StatefulSet controller has seen the newest spec."""
    claim_size: str
    claim_class: str | None
    """Size and class in the claim template, which can never be changed in place."""
    unseal: str = ""
    """Keys of the static seal that its pods know (annotation of the template, "" if absent)."""
    image_records: tuple[str, ...] = ()
    """What was proven of images (annotations of the StatefulSet itself)."""
    version: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What can never be changed in place, as text by name; without size and class of volumes."""
    service_account: str = ""
    """The ServiceAccount under which new pods run."""
    fence_gate: bool = False
    """Its pods are made with our scheduling gate."""
    image: str = ""
    """Image of the servers that are made now."""
    restored: str = ""
    """UID of the last restore that its template knows of (annotation, "" if absent)."""
    foreign: ForeignStatefulSet | None = None
    """None: this operator wrote it. Else what another one made, and what of it counts."""


@dataclass(frozen=True, slots=True)
class PvcFacts:
    """One data volume claim."""

    name: str
    uid: str
    owner_uid: str
    terminating: bool
    requested: str = ""
    """Size that it asks for, a quantity."""
    capacity: str = ""
    """Size that its volume has, a quantity; "" while it has none."""
    storage_class: str = ""
    phase: str = ""
    """Pending, Bound or Lost."""
    resizing: str = ""
    """Type of its condition about growth that is True, if any: Resizing,
    FileSystemResizePending, ControllerResizeError, NodeResizeError."""
    resize_message: str = ""
    resizing_since: datetime | None = None
    adopt: str = ""
    """Name of the cluster that a person hands it over to (annotation)."""
    removed_peer: str = ""
    """Raft node id that was removed for good while this was its volume (annotation)."""


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """The servers other than the serving voters: their StatefulSet, pods and data volumes."""

    stateful_set: StatefulSetFacts | None = None
    pods: tuple[PodFacts, ...] = ()
    claims: tuple[PvcFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedPvcFacts:
    """One volume claim that several servers mount."""

    name: str
    owner_uid: str
    terminating: bool
    access_modes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerClientConfig:
    """How the operator reaches the servers."""

    authority: str
    """PEM of whom to trust; "" for the authorities of the operator's own host."""
    server_name: str
    """The TLS name to ask for, whatever address is dialled."""


def leaders_of(servers: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """Return the pods that say they are the active server, without those that terminate."""
    return tuple([pod for pod in servers if pod.registration.active and not pod.terminating])


def is_leader_in_doubt(servers: Sequence[PodFacts]) -> bool:
    """Report whether several servers run and not exactly one of them says that it leads.

    `servers`: the pods of all pools. A former leader of one pool may keep its label while a server
    of another pool leads.
    """
    running = [pod for pod in servers if pod.ip and not pod.terminating]
    return len(running) > 1 and len(leaders_of(servers)) != 1


@dataclass(frozen=True, slots=True)
class RaftServer:
    """One member of the raft cluster, as the leader sees it."""

    node_id: str
    voter: bool
    healthy: bool
    """In contact and caught up, by the autopilot's own thresholds: some seconds late."""
    follows: bool = True
    """Its log holds what the leader had a moment before."""
    leader: bool = False
    """The raft configuration names it as the leader."""
    judged_by_log: bool = False
    """The leader's autopilot knows nothing of its health: `healthy` equals `follows`."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """What the leader says of its followers; read only while pods are being replaced."""

    servers: tuple[RaftServer, ...] = ()
    failure_tolerance: int = 0
    """How many voters may be lost before nothing can be written any more."""
    trouble: str = ""
    """Why the leader could not be asked now, for a person; "" when it could."""
    refused: str = ""
    """The path that the operator may not use, "" when none was refused: a person has to act, and
    `trouble` says how."""

    @property
    def unanswered(self) -> str:
        """Return why the state of the followers is unknown; "" when the leader reported it."""
        why = self.trouble
        return f"the leader could not be asked for its followers: {why}" if why else ""


@dataclass(frozen=True, slots=True)
class ImageVerdict:
    """What is known of the signature of one image that a policy asks about."""

    reference: str
    """The image as the spec or the installation names it."""
    pinned: str = ""
    """`repository@sha256:...` that was proven and is to be used; "" when nothing was proven."""
    record: str = ""
    """The annotation by which a StatefulSet remembers the proof."""
    problem: Literal["", "unproven", "unreachable"] = ""
    """unproven: a user must act. unreachable: no server could be asked, or not yet."""
    message: str = ""
    retry_after: float = 0.0
    """Seconds after which it is worth asking again."""


EVICT: Final = "evict"
"""The effect that takes a ready pod away through its budget."""


@dataclass(frozen=True, slots=True)
class EffectAttempt:
    """An effect that this process tried, while it remembers: lost with the process."""

    effect: str
    uid: str
    at: datetime
    refused: str = ""
    """What the other side said; "" when it accepted."""

    def keeps(self, pod: PodFacts) -> str:
        """Record for a pod that its budget refused this eviction."""
        return f"{pod.name} is not taken away: {self.refused}"


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Who signs this cluster's ServiceAccount tokens: OIDC discovery of the API server."""

    issuer: str
    public_keys: tuple[str, ...]
    """PEM, sorted."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The observed state that the decisions of one reconcile may use."""

    now: datetime
    stateful_set: StatefulSetFacts | None = None
    pods: tuple[PodFacts, ...] = ()
    claims: tuple[PvcFacts, ...] = ()
    read: PoolFacts = PoolFacts()
    green: PoolFacts = PoolFacts()
    """The other pool of voters, if there is one."""
    unknown_pools: tuple[str, ...] = ()
    """Names of StatefulSets of voters that no status names, and of which there are pods or volumes;
    only searched for while the pool that should serve has no StatefulSet."""
    rivals: tuple[str, ...] = ()
    """Those of them that have a StatefulSet of this cluster: one of them may be what serves."""
    secrets: Mapping[str, SecretFacts] = field(default_factory=dict)
    client_config: ServerClientConfig | None = None
    """None: it is not known whom to trust."""
    acme_claim: NamedPvcFacts | None = None
    """The claim that servers share in mode ACME; None when it is not there or not wanted."""
    audit_claim: NamedPvcFacts | None = None
    """The claim for the files of audit devices; None when it is not there or not wanted."""
    token_issuer: TokenIssuer | None = None
    members: int | None = None
    """How many raft members but read replicas the last status tells of, if it does."""
    rolling_since: datetime | None = None
    """Since when, by the last status, pods are being replaced; None when they are not."""
    resumed_at: datetime | None = None
    """When the last pause ended; None if there was none."""
    waking_since: datetime | None = None
    """Since when, by the last status, the servers come back from hibernation, if they do."""
    quorum: Quorum | None = None
    """None: not asked, because no pod is to be replaced, or because no login of the operator ever
    succeeded."""
    attempts: tuple[EffectAttempt, ...] = ()
    images: Mapping[str, ImageVerdict] = field(default_factory=dict)
    """By reference; only images that a policy asks about."""
    exposure: ExposureFacts = NO_FACTS
    """What is observed of the ways in from outside."""
    api_server_hosts: tuple[str, ...] = ()
    """Addresses under which pods reach the API server, without port."""
    api_endpoints: ApiEndpoints = NO_ENDPOINTS
    account: AccountFacts | None = None
    """The ServiceAccount that the spec names; None when it names none or there is none yet."""
    admission: AdmissionFacts | None = None
    """Whether the admission policies are installed; None: not checked yet."""
    lacking_fields: tuple[str, ...] = ()
    """Fields of this operator's API that the API server lacks, each with its kind in front."""
    upgrade: UpgradeFacts = NO_UPGRADE
    foreign_objects: tuple[ForeignObject, ...] = ()
    """Objects of this cluster that another operator wrote last; read only while its StatefulSet is
    one of them."""

    def pod(self, ordinal: int) -> PodFacts | None:
        """Return the pod of an ordinal, if there is one."""
        return next((pod for pod in self.pods if pod.ordinal == ordinal), None)

    def of_pool(self, pool: PoolFacts) -> Observed:
        """Return the same with another pool in the place of the voters that serve.

        What a leader says of its followers is about the voters, and left out.
        """
        return replace(
            self, stateful_set=pool.stateful_set, pods=pool.pods, claims=pool.claims, quorum=None
        )

    def attempted(self, effect: str, uid: str) -> EffectAttempt | None:
        """Return the last attempt of an effect on an object, if it is remembered."""
        attempts = [one for one in self.attempts if (one.effect, one.uid) == (effect, uid)]
        return attempts[-1] if attempts else None

    def refused_eviction(self, within: timedelta) -> str:
        """Name a ready pod that its disruption budget kept a moment ago, "" for none."""
        for pod in self.servers:
            tried = self.attempted(EVICT, pod.uid)
            if pod.ready and tried and tried.refused and self.now - tried.at < within:
                return tried.keeps(pod)
        return ""

    @property
    def voters(self) -> PoolFacts:
        """The pool of voters that serves."""
        return PoolFacts(self.stateful_set, self.pods, self.claims)

    @property
    def servers(self) -> tuple[PodFacts, ...]:
        """Return the pods of all servers: the voters, green, then the read replicas."""
        return self.pods + self.green.pods + self.read.pods

    @property
    def leaders(self) -> tuple[PodFacts, ...]:
        """Pods that say they lead; a person may have given a read replica a vote."""
        return leaders_of(self.servers)

    @property
    def leader_in_doubt(self) -> bool:
        """Whether several servers run and not exactly one of them says that it leads."""
        return is_leader_in_doubt(self.servers)

    def with_servers(self, servers: Iterable[PodFacts]) -> Observed:
        """Return the same with these facts in the place of those of the pods with their names."""
        by_name = {pod.name: pod for pod in servers}

        def updated(pods: tuple[PodFacts, ...]) -> tuple[PodFacts, ...]:
            return tuple(by_name.get(pod.name, pod) for pod in pods)

        return replace(
            self,
            pods=updated(self.pods),
            green=replace(self.green, pods=updated(self.green.pods)),
            read=replace(self.read, pods=updated(self.read.pods)),
        )

    @property
    def holds_data(self) -> bool:
        """Whether a volume may hold the data; that of a read replica is a whole copy."""
        return bool(self.claims or self.read.claims)
