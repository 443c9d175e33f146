"""Facts about one cluster, read at the start of a reconcile; frozen, without decisions.

Created by `managers.cluster.observe.observer`; read by resolve, plan and status. No I/O.
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
    """Digest of the pod template of this pod (annotation, "" if absent)."""
    restarts: int
    last_exit: ContainerExit | None
    waiting: str
    """Reason of the kubelet why the container does not run; "" while it runs."""
    registration: Registration
    """State that the server reports in the labels of its pod: a hint, which may be wrong."""
    tls_secret: str = ""
    """The Secret that it mounts as certificate and key, "" for none."""
    serves: str | None = None
    """Fingerprint of the certificate that it last served; "" if it did not answer, None if it was
    not probed."""
    reload_hash: str = ""
    """Hash of the reloadable files at the creation of the pod (annotation, "" if absent)."""
    reloads: tuple[Reload, ...] = ()
    """All reload attempts, in the order of their requests."""
    unseal: str = ""
    """Static seal keys of its server (annotation, "" if absent)."""
    rewrap_key: str = ""
    """Key with which it rewrapped the root key as leader (annotation, "" if absent)."""
    gated: bool = False
    """The scheduler must not place it yet: its spec has a scheduling gate."""
    node: str = ""
    """Its node; "" before it is scheduled."""
    deletion_timestamp: datetime | None = None
    """End of its grace period, if it is terminating (metadata.deletionTimestamp)."""
    maintenance: bool = False
    """It has the annotation of spec.maintenance."""
    creation_timestamp: datetime | None = None
    """metadata.creationTimestamp."""
    service_account: str = ""
    """Its ServiceAccount."""
    restore_uid: str = ""
    """UID of the last restore at its creation (annotation, "" if absent)."""
    fence_gate: bool = False
    """Its spec has our own scheduling gate: its server cannot start."""
    first_set: bool = False
    """It has the label by which clients find the pool without a revision."""
    image: str = ""
    """Image of its server in its spec."""
    labels: Pairs = ()
    """The labels that the operator selects by."""
    controller: str = ""
    """UID of its StatefulSet; "" without one."""

    @property
    def is_down(self) -> bool:
        """Whether the server does not run at all: it can neither vote nor answer."""
        return not self.ready and bool(self.waiting)


@dataclass(frozen=True, slots=True)
class StatefulSetFacts:
    """The live StatefulSet."""

    uid: str
    replicas: int
    ready_replicas: int
    template: str
    """Digest annotation of the pod template."""
    reload_hash: str
    """Hash annotation of the files that new pods read, and that older pods can reload."""
    first_boot: bool
    """Its template still has the `initialize` document."""
    generation_observed: bool
    """The StatefulSet controller has observed the newest spec."""
    claim_size: str
    claim_class: str | None
    """Size and class in the claim template, which is immutable."""
    unseal: str = ""
    """Static seal keys of its pods (annotation of the template, "" if absent)."""
    image_records: tuple[str, ...] = ()
    """Records of verified images (annotations of the StatefulSet itself)."""
    version: str = ""
    immutable_fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Immutable fields as text by name, except size and class of volumes."""
    service_account: str = ""
    """The ServiceAccount of new pods."""
    fence_gate: bool = False
    """New pods have our scheduling gate."""
    image: str = ""
    """Image of new servers."""
    restore_uid: str = ""
    """UID of the last restore in its template (annotation, "" if absent)."""
    missing_pods: int = 0
    """Pods that do not exist after its controller tried to create them, according to its status."""
    creation_hash: str = ""
    """Hash of its immutable fields as requested at its creation (annotation, "" if absent)."""
    foreign: ForeignStatefulSet | None = None
    """None: this operator wrote it. Otherwise facts about the StatefulSet of another operator."""


@dataclass(frozen=True, slots=True)
class PvcFacts:
    """One data PVC."""

    name: str
    uid: str
    owner_uid: str
    terminating: bool
    requested: str = ""
    """Requested size, a quantity."""
    capacity: str = ""
    """Size of its volume, a quantity; "" without a volume."""
    storage_class: str = ""
    phase: str = ""
    """Pending, Bound or Lost."""
    resizing: str = ""
    """Type of its resize condition that is True, if any: Resizing, FileSystemResizePending,
    ControllerResizeError, NodeResizeError."""
    resize_message: str = ""
    resizing_since: datetime | None = None
    adopt: str = ""
    """Name of the cluster to which a user hands it over (annotation)."""
    removed_peer: str = ""
    """Node id of the permanently removed raft peer of this volume (annotation)."""


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """One pool of servers: its StatefulSet, pods and data PVCs."""

    stateful_set: StatefulSetFacts | None = None
    pods: tuple[PodFacts, ...] = ()
    claims: tuple[PvcFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedPvcFacts:
    """One PVC that several servers mount."""

    name: str
    owner_uid: str
    terminating: bool
    access_modes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerClientConfig:
    """TLS settings of the operator for requests to the servers."""

    authority: str
    """PEM of the trusted CAs; "" for the system CAs of the operator."""
    server_name: str
    """The TLS name to request, independent of the address."""


def leaders_of(servers: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """Return the pods that report that they are the active node, except terminating ones."""
    return tuple([pod for pod in servers if pod.registration.active and not pod.terminating])


def is_leader_in_doubt(servers: Sequence[PodFacts]) -> bool:
    """Return whether several servers run and not exactly one of them reports that it is the leader.

    `servers`: the pods of all pools. A former leader of one pool may keep its label while a server
    of another pool leads.
    """
    running = [pod for pod in servers if pod.ip and not pod.terminating]
    return len(running) > 1 and len(leaders_of(servers)) != 1


@dataclass(frozen=True, slots=True)
class RaftServer:
    """One member of the raft cluster, as the leader reports it."""

    node_id: str
    voter: bool
    healthy: bool
    """In contact and caught up, by the thresholds of the autopilot; some seconds late."""
    follows: bool = True
    """Its log contains the last entry that the leader had a moment before."""
    leader: bool = False
    """The raft configuration names it as the leader."""
    judged_by_log: bool = False
    """The autopilot of the leader does not know its health: `healthy` equals `follows`."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """The leader's report about its followers; read only while pods are being replaced."""

    servers: tuple[RaftServer, ...] = ()
    failure_tolerance: int = 0
    """Number of voters that may fail before writes are no longer possible."""
    error: str = ""
    """Why the leader did not answer, for a message; "" if it answered."""
    refused_path: str = ""
    """The path that the operator may not use, "" if none was refused: a user must act, as `error`
    explains."""

    @property
    def error_message(self) -> str:
        """Why the state of the followers is unknown; "" when the leader reported it."""
        why = self.error
        return f"the leader did not report its followers: {why}" if why else ""


@dataclass(frozen=True, slots=True)
class ImageVerdict:
    """The result of the verification of one image."""

    reference: str
    """The image in the spec or in the settings of the installation."""
    pinned: str = ""
    """The verified reference for pods, `repository@sha256:...`; "" if verification failed."""
    record: str = ""
    """The annotation of a StatefulSet that records this verdict."""
    problem: Literal["", "unverified", "unreachable"] = ""
    """unverified: a user must act. unreachable: the registry did not respond or is not read yet."""
    message: str = ""
    retry_after: float = 0.0
    """Seconds until the next attempt."""


EVICT: Final = "evict"
"""The effect that removes a ready pod by an eviction, which its PodDisruptionBudget may refuse."""


@dataclass(frozen=True, slots=True)
class EffectAttempt:
    """An attempt of an effect by this process. A restart of the process loses it."""

    effect: str
    uid: str
    at: datetime
    refusal: str = ""
    """The message of a refusal; "" if the request was accepted."""

    def keeps(self, pod: PodFacts) -> str:
        """Return the message that the budget of a pod refused this eviction."""
        return f"{pod.name} is not evicted: {self.refusal}"


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """The issuer of ServiceAccount tokens, from the OIDC discovery of the API server."""

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
    """Names of voter StatefulSets that have pods or volumes, but are in no status; read only while
    the pool that should serve has no StatefulSet."""
    existing_pools: tuple[str, ...] = ()
    """Names among them with an existing StatefulSet of this cluster, which may serve clients."""
    secrets: Mapping[str, SecretFacts] = field(default_factory=dict)
    client_config: ServerClientConfig | None = None
    """None: the CA of the servers is not known."""
    acme_claim: NamedPvcFacts | None = None
    """The PVC that servers share in mode ACME; None if it does not exist or is not requested."""
    audit_claim: NamedPvcFacts | None = None
    """The PVC for the files of audit devices; None if it does not exist or is not requested."""
    token_issuer: TokenIssuer | None = None
    members: int | None = None
    """Number of raft members except read replicas, from the last status."""
    rolling_since: datetime | None = None
    """Start of the present rollout, from the last status; None without a rollout."""
    resumed_at: datetime | None = None
    """When the last pause ended; None if there was none."""
    waking_since: datetime | None = None
    """Start of the present wake-up from hibernation, from the last status; None without one."""
    quorum: Quorum | None = None
    """None: not read, because no pod is to be replaced, or no login has ever succeeded."""
    attempts: tuple[EffectAttempt, ...] = ()
    images: Mapping[str, ImageVerdict] = field(default_factory=dict)
    """By reference; only images with a verification policy."""
    exposure: ExposureFacts = NO_FACTS
    """The observed exposure objects."""
    api_server_hosts: tuple[str, ...] = ()
    """Addresses at which pods reach the API server, without port."""
    api_endpoints: ApiEndpoints = NO_ENDPOINTS
    account: AccountFacts | None = None
    """The ServiceAccount that the spec names; None if it names none or it does not exist yet."""
    admission: AdmissionFacts | None = None
    """Whether the admission policies are installed; None: not checked yet."""
    missing_fields: tuple[str, ...] = ()
    """Fields of this operator's API that the API server lacks, each prefixed with its kind."""
    upgrade: UpgradeFacts = NO_UPGRADE
    foreign_objects: tuple[ForeignObject, ...] = ()
    """Objects of this cluster that another operator wrote last; read only while its StatefulSet is
    one of them."""

    def pod(self, ordinal: int) -> PodFacts | None:
        """Return the pod of an ordinal, if it exists."""
        return next((pod for pod in self.pods if pod.ordinal == ordinal), None)

    def with_pool(self, pool: PoolFacts) -> Observed:
        """Return a copy with another pool instead of the serving voters.

        The copy has no quorum, because the quorum is about the voters.
        """
        return replace(
            self, stateful_set=pool.stateful_set, pods=pool.pods, claims=pool.claims, quorum=None
        )

    def last_attempt(self, effect: str, uid: str) -> EffectAttempt | None:
        """Return the last recorded attempt of an effect on an object, if any."""
        attempts = [item for item in self.attempts if (item.effect, item.uid) == (effect, uid)]
        return attempts[-1] if attempts else None

    def refused_eviction(self, within: timedelta) -> str:
        """Return the message about a recently refused eviction of a ready pod, "" for none."""
        for pod in self.servers:
            attempt = self.last_attempt(EVICT, pod.uid)
            if pod.ready and attempt and attempt.refusal and self.now - attempt.at < within:
                return attempt.keeps(pod)
        return ""

    @property
    def voters(self) -> PoolFacts:
        """The serving pool of voters."""
        return PoolFacts(self.stateful_set, self.pods, self.claims)

    @property
    def servers(self) -> tuple[PodFacts, ...]:
        """The pods of all servers: the voters, green, then the read replicas."""
        return self.pods + self.green.pods + self.read.pods

    @property
    def leaders(self) -> tuple[PodFacts, ...]:
        """The pods that report that they are the leader, of any pool: a user may have given a read
        replica a vote."""
        return leaders_of(self.servers)

    @property
    def leader_in_doubt(self) -> bool:
        """Whether several servers run and not exactly one reports that it is the leader."""
        return is_leader_in_doubt(self.servers)

    def with_servers(self, servers: Iterable[PodFacts]) -> Observed:
        """Return a copy in which these facts replace those of the pods with the same names."""
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
        """Whether a volume may contain the data; a read replica has a complete copy."""
        return bool(self.claims or self.read.claims)
