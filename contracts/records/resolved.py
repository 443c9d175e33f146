"""The cluster as it was meant: every default, merge and choice made, once per pass.

Made by `managers.cluster.resolve.resolve`; every builder takes this and never the CR. No I/O.
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
    """What `spec.network` requests, in addition to the rules that always exist."""

    operator_namespace: str
    dns_namespace: str
    dns_endpoints: tuple[str, ...]
    api_server_cidrs: tuple[str, ...]
    api_server_endpoints: tuple[str, ...]
    trusted_peers: tuple[Mapping[str, Any], ...]
    ingress_rules: tuple[Mapping[str, Any], ...]
    egress_rules: tuple[Mapping[str, Any], ...]
    metrics_port: int | None = None
    """The port that answers metrics alone, if there is one: open to clients like the API."""
    store_ports: tuple[int, ...] = ()
    """Ports at which jobs may connect to a snapshot store at any address; none in profile Hardened,
    nor with rules of the user."""
    open_to_namespace: bool = True
    """Every pod of the cluster's own namespace is a client; in profile Hardened none is by that."""


@dataclass(frozen=True, slots=True)
class AcmeVolume:
    """The claim that servers share in mode ACME; `size` and `storage_class` if it is ours."""

    claim: str
    managed: bool
    size: str = ""
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class AuditVolume:
    """The claim for the files of audit devices; `size` and `storage_class` if it is ours."""

    claim: str
    managed: bool
    mount_path: str
    size: str = ""
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Where certificates come from, and by which name servers are known.

    `server_secret` and `authority_secret` are None in mode ACME; `acme_ca_secret` is mounted for
    the servers and `issuer_secret` names the authority that signs their certificates (None: those
    of the host are trusted).
    """

    mode: TlsMode
    server_name: str
    server_secret: str | None
    authority_secret: str | None
    ca_request: str = ""
    """A new authority is asked for whenever this text changes."""
    ca_overlap: timedelta = timedelta(days=1)
    acme_ca_secret: str | None = None
    issuer_secret: str | None = None
    acme_volume: AcmeVolume | None = None


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The images of a server pod, as far as their signatures are proven."""

    server: str
    """The reference that is written: pinned to the content that was proven, if a policy asks."""
    helper: str = ""
    """The operator's own image for use inside of server pods; "" when it may not be used."""
    outcome: Outcome = _PROVEN
    """Other than Done: no pod may be made, changed or replaced."""
    records: tuple[tuple[str, str], ...] = ()
    """Annotations by which the StatefulSet remembers what was proven."""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """One of the two pools of an upgrade, as it is rendered. `revision` "": the one without."""

    revision: str
    release: Release
    replicas: int
    """As it was when the upgrade began."""
    applied: bool = True
    """False: the pool stays as it is; nothing of it is written, recreated or pruned."""
    images: ImageChoice = field(default_factory=lambda: ImageChoice(""))
    """Of green; resolved for it alone."""


@dataclass(frozen=True, slots=True)
class JobAccount:
    """A ServiceAccount under which jobs run; `annotations` make a cloud know it."""

    name: str
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealSettings:
    """What opens the servers."""

    spec: Unseal
    secrets: tuple[str, ...]
    """The Secrets without which no pod starts: of the keys of a static seal in the order in which
    the servers get them, else the one of the user."""
    rotation: Rotation | None
    """Which keys servers know, for a static seal."""

    @property
    def ring(self) -> KeyRing | None:
        """The keys of a static seal."""
        return None if self.rotation is None else self.rotation.ring


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What the spec asks of a server pod."""

    image: str
    pull_secrets: tuple[str, ...]
    resources: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restart_at: str
    security: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the pod's security context that replace our own."""
    parts: tuple[PodPart, ...] = ()
    """What features add to the pod, in this order."""
    scheduling: Scheduling | None = None
    """Where the voters run; None: spread over nodes and zones."""
    fixed_ids: bool = True
    """User and group are ours to choose; not on OpenShift, where each namespace has a range."""
    operator_image: str = ""
    """Image of the operator, for its containers in server pods; "" when it is not known."""


@dataclass(frozen=True, slots=True)
class ReadPoolSpec:
    """The read replicas, as `spec.readReplicas` asks for them; defaults are those of the voters."""

    replicas: int
    """The desired number; 0 while the remaining ones are removed."""
    config_text: str
    """config.hcl of a server that joins without a vote."""
    restart_text: str
    """The same without what a running server reads again on SIGHUP."""
    pod: PodSettings
    storage_size: str
    storage_class: str | None
    service: bool = False
    """`spec.readReplicas.service.enabled`: a Service of their own."""
    service_type: str = "ClusterIP"
    service_annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resolved:
    """One cluster, ready to be planned."""

    owner: Owner
    version: str
    replicas: int
    """How many servers the spec asks for."""
    initialized: bool
    """Data exists: nothing that would make a second cluster may happen any more."""
    members: int | None
    """How many members the raft cluster had when it was last asked; None: it could not be asked."""
    voters: int | None
    """How many of them had a vote."""
    self_init: bool
    """The user's own requests initialise the server; else we leave a root token."""
    wants_operator_login: bool
    """`spec.selfInit.oidc.enabled`: the first boot sets up a login for the operator itself."""
    has_operator_login: bool
    """The operator may ask the servers with a login of its own."""
    config: ConfigInput
    config_text: str
    """config.hcl, rendered once: two steps need it."""
    restart_text: str
    """config.hcl without what a running server reads again on SIGHUP."""
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
    """A certificate is renewed when it has less than this to live."""
    tls: TlsSettings
    images: ImageChoice = field(default_factory=lambda: ImageChoice(""))
    keeps_volumes: bool = True
    """`spec.deletionPolicy` is Retain: the volume of a removed server is kept."""
    exposure: ExposureSpec = NO_EXPOSURE
    """Ways in from outside that are asked for."""
    audit_volume: AuditVolume | None = None
    """The volume for the files of audit devices, if one is asked for."""
    hibernate: bool = False
    """No server is to run."""
    fenced: tuple[str, ...] = ()
    """Pods of voters that are not to run."""
    maintenance: bool = False
    """Disruptions that can wait are held back: no pod is replaced, no server removed."""
    job_accounts: tuple[JobAccount, ...] = ()
    """Accounts of the jobs that are asked for, or that run."""
    restoring: str = ""
    """The restore whose job may replace the data now: until it says so, no pod is disturbed."""
    restored: str = ""
    """UID of the last restore, since which every server has to be restarted."""
    reuses_account: bool = False
    """The ServiceAccount is a person's own: never changed and never deleted."""
    read: ReadPoolSpec | None = None
    """The read replicas; None when none are asked for and none are left."""
    config_named: str = ""
    """config.hcl as it would be without green, which identifies it for running servers: they do not
    read the join settings again. "": its own text identifies it."""
    revision: str = ""
    """Which set of voters is meant; "" for the one without a revision."""
    reads: bool = False
    """The read replicas are meant instead of voters."""
    green: PoolSpec | None = None
    """The green pool that is to take over."""
    other: ServerPool | None = None
    """Another set of voters than the one that is meant, kept up or on its way out."""
    traffic: str = ""
    """Revision of the servers that clients are sent to; "" for all servers of either pool."""
    traffic_first: bool = False
    """Clients are sent to the servers of the pool without a revision alone."""

    @property
    def voter_pool(self) -> ServerPool:
        """The names and labels of the voters."""
        return ServerPool(self.owner.name, self.revision)

    @property
    def pool(self) -> ServerPool:
        """The names and labels of the servers that are meant."""
        return ServerPool(self.owner.name, reads=True) if self.reads else self.voter_pool

    @property
    def servers(self) -> int:
        """How many servers of either pool the spec asks for."""
        return self.replicas + (self.read.replicas if self.read else 0)

    @property
    def unseal_secret(self) -> str:
        """The Secret of the seal; "" when it has none."""
        return next(iter(self.unseal.secrets), "")

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.owner.name

    @property
    def namespace(self) -> str:
        """Namespace of the cluster and of everything that it owns."""
        return self.owner.namespace
