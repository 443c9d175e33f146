"""The spec of a cluster with all defaults and choices, computed once per reconcile.

Created by `managers.cluster.resolve.resolve`; every builder uses it and never the CR. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from contracts.api.cluster.scheduling import Scheduling
from contracts.api.cluster.seal import Unseal
from contracts.api.cluster.tls import TlsMode
from contracts.builders.pod_part import PodPart
from contracts.hcl.render import ConfigInput
from contracts.pools.voter_pool import ServerPool
from contracts.records.exposure import NO_EXPOSURE, ExposureSpec
from contracts.records.upgrade import Release
from contracts.unseal_keys import KeyRing, Rotation
from runtime.apply.ownership import Owner
from runtime.outcome import Done, Outcome

_PROVEN: Final = Done()


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The settings of `spec.network`, in addition to the rules that always exist."""

    operator_namespace: str
    dns_namespace: str
    dns_endpoints: tuple[str, ...]
    api_server_cidrs: tuple[str, ...]
    api_server_endpoints: tuple[str, ...]
    trusted_peers: tuple[Mapping[str, Any], ...]
    ingress_rules: tuple[Mapping[str, Any], ...]
    egress_rules: tuple[Mapping[str, Any], ...]
    metrics_port: int | None = None
    """The separate port for metrics, if there is one: open to clients like the API."""
    store_ports: tuple[int, ...] = ()
    """Ports at which jobs may connect to a snapshot store at any address; none in profile Hardened
    or with egress rules of the user."""
    open_to_namespace: bool = True
    """All pods of the cluster's namespace may be clients; False in profile Hardened."""


@dataclass(frozen=True, slots=True)
class AcmeVolume:
    """The PVC that servers share in mode ACME; `size` and `storage_class` if it is ours."""

    claim: str
    managed: bool
    size: str = ""
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class AuditVolume:
    """The PVC for the files of audit devices; `size` and `storage_class` if it is ours."""

    claim: str
    managed: bool
    mount_path: str
    size: str = ""
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The source of the certificates, and the TLS name of the servers.

    `server_secret` and `authority_secret` are None in mode ACME; `acme_ca_secret` is mounted for
    the servers, and `issuer_secret` contains the CA that signs their certificates (None: the CAs of
    the host are trusted).
    """

    mode: TlsMode
    server_name: str
    server_secret: str | None
    authority_secret: str | None
    ca_request: str = ""
    """A change of this text requests a new CA."""
    ca_overlap: timedelta = timedelta(days=1)
    acme_ca_secret: str | None = None
    issuer_secret: str | None = None
    acme_volume: AcmeVolume | None = None


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The images of a server pod, and the outcome of their verification."""

    server: str
    """The reference for the pod: with the verified digest if a policy requires verification."""
    operator_image: str = ""
    """The operator's own image for server pods; "" if it may not be used."""
    outcome: Outcome = _PROVEN
    """Not Done: no pod may be created, changed or replaced."""
    records: tuple[tuple[str, str], ...] = ()
    """Annotations of the StatefulSet that record the verified images."""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """One of the two pools of an upgrade. `revision` "": the pool without a revision."""

    revision: str
    release: Release
    replicas: int
    """Number of servers at the start of the upgrade."""
    applied: bool = True
    """False: none of its objects is written, recreated or pruned."""
    images: ImageChoice = field(default_factory=lambda: ImageChoice(""))
    """Resolved only for green."""


@dataclass(frozen=True, slots=True)
class JobAccount:
    """A ServiceAccount of jobs; `annotations` are for the workload identity of a cloud."""

    name: str
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealSettings:
    """The seal of the servers."""

    spec: Unseal
    secrets: tuple[str, ...]
    """The Secrets that a pod needs to start: those of the keys of a static seal in the order of
    their use, else the Secret of the user."""
    rotation: Rotation | None
    """The keys of the servers, for a static seal."""

    @property
    def ring(self) -> KeyRing | None:
        """The keys of a static seal."""
        return None if self.rotation is None else self.rotation.ring


@dataclass(frozen=True, slots=True)
class PodSettings:
    """The settings of the spec for a server pod."""

    image: str
    pull_secrets: tuple[str, ...]
    resources: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restart_at: str
    security: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the pod's security context that replace our own."""
    parts: tuple[PodPart, ...] = ()
    """The parts of the pod that features add, in this order."""
    scheduling: Scheduling | None = None
    """Scheduling of the voters; None: spread over nodes and zones."""
    fixed_ids: bool = True
    """The operator sets user and group; False on OpenShift, where each namespace has a range."""
    operator_image: str = ""
    """Image of the operator, for its containers in server pods; "" if it is not known."""


@dataclass(frozen=True, slots=True)
class ReadPoolSpec:
    """The read replicas of `spec.readReplicas`; defaults are those of the voters."""

    replicas: int
    """The desired number; 0 while the last replicas are removed."""
    config_text: str
    """config.hcl of a server that joins without a vote."""
    reload_text: str
    """`config_text` without the interval of the autopilot, which may wait for a restart."""
    restart_text: str
    """`config_text` without the settings that a server reloads on SIGHUP."""
    pod: PodSettings
    storage_size: str
    storage_class: str | None
    service: bool = False
    """`spec.readReplicas.service.enabled`: the read replicas have a separate Service."""
    service_type: str = "ClusterIP"
    service_annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resolved:
    """One cluster, ready to be planned."""

    owner: Owner
    version: str
    replicas: int
    """The desired number of voters."""
    initialized: bool
    """Data exists, so the operator must not initialize another cluster."""
    members: int | None
    """Number of raft members, when last read; None: it could not be read."""
    voters: int | None
    """Number of raft members with a vote."""
    self_init: bool
    """The user's own requests initialize the server; otherwise the operator keeps a root token."""
    wants_operator_login: bool
    """`spec.selfInit.oidc.enabled`: the first boot sets up a login for the operator."""
    has_operator_login: bool
    """The operator can use its own login at the servers."""
    config: ConfigInput
    config_text: str
    """config.hcl, rendered once, because two steps need it."""
    reload_text: str
    """config.hcl without settings that only a start reads and that may wait for it: the join
    settings, which differ between blue and green, and the interval of the autopilot."""
    restart_text: str
    """config.hcl without the settings that a server reloads on SIGHUP."""
    unseal: SealSettings
    pod: PodSettings
    service_account: str
    service_account_annotations: Mapping[str, str]
    service_type: str
    service_annotations: Mapping[str, str]
    network: NetworkSettings
    storage_size: str
    storage_class: str | None
    certificate_names: tuple[str, ...]
    certificate_addresses: tuple[str, ...]
    rotate_before: timedelta
    """A certificate is renewed if it expires within this time."""
    tls: TlsSettings
    images: ImageChoice = field(default_factory=lambda: ImageChoice(""))
    keeps_volumes: bool = True
    """`spec.deletionPolicy` is Retain: the volume of a removed server is kept."""
    exposure: ExposureSpec = NO_EXPOSURE
    """The requested exposure outside of the namespace."""
    audit_volume: AuditVolume | None = None
    """The volume for the files of audit devices, if requested."""
    hibernate: bool = False
    """No server runs."""
    fenced: tuple[str, ...] = ()
    """Voter pods that must not run."""
    maintenance: bool = False
    """The operator postpones disruptions: it replaces no pod and removes no server."""
    job_accounts: tuple[JobAccount, ...] = ()
    """ServiceAccounts of requested or running jobs."""
    restoring: str = ""
    """The restore whose job may replace the data now: until it ends, no pod may be disrupted."""
    restore_uid: str = ""
    """UID of the last restore, after which every server must restart."""
    reuses_account: bool = False
    """The ServiceAccount belongs to a user: the operator never changes or deletes it."""
    read: ReadPoolSpec | None = None
    """The read replicas; None if none are requested and none are left."""
    revision: str = ""
    """Revision of the voters in this record; "" for the pool without a revision."""
    reads: bool = False
    """This record is about the read replicas instead of voters."""
    green: PoolSpec | None = None
    """The green pool that takes over."""
    other: ServerPool | None = None
    """The other pool of voters, which is kept or being removed."""
    traffic: str = ""
    """Revision of the servers that the public Service selects; "" for all servers of all pools."""
    traffic_first: bool = False
    """The public Service selects only the servers of the pool without a revision."""

    @property
    def voter_pool(self) -> ServerPool:
        """The names and labels of the voters."""
        return ServerPool(self.owner.name, self.revision)

    @property
    def pool(self) -> ServerPool:
        """The names and labels of the servers of this record."""
        return ServerPool(self.owner.name, reads=True) if self.reads else self.voter_pool

    @property
    def servers(self) -> int:
        """The desired number of servers: voters and read replicas."""
        return self.replicas + (self.read.replicas if self.read else 0)

    @property
    def unseal_secret(self) -> str:
        """The first Secret of the seal; "" without one."""
        return next(iter(self.unseal.secrets), "")

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.owner.name

    @property
    def namespace(self) -> str:
        """Namespace of the cluster and of all objects that it owns."""
        return self.owner.namespace
