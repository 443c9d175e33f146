"""Records that sources, store, provider and decision exchange: values, no I/O.

Uses contracts.datacenter.service_spec. Called by managers.datacenter and by programs that embed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from contracts.datacenter.grants import NO_ACCESS, NodeAccess, ObjectKind
from contracts.datacenter.objects import State
from contracts.datacenter.service_spec import BODIES, BootstrapService
from contracts.datacenter.workload import RowState
from runtime.apply.intent import digest
from runtime.memo import memoize

DECLARED = "declared"
"""The source that is the datacenter itself."""


@dataclass(frozen=True, slots=True)
class DatacenterInfo:
    """A datacenter, as much of it as hooks, stores and providers need."""

    name: str
    uid: str
    namespace: str
    provider: str = "kubernetes"
    region: str = ""
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    state: State = "Active"
    node_access: NodeAccess = NO_ACCESS
    object_kinds: tuple[ObjectKind, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceSource:
    """Where a service comes from."""

    name: str
    priority: int = 0

    @property
    def rank(self) -> tuple[bool, int, str]:
        """The total order of sources, the winner first: declared, priority, name."""
        return self.name != DECLARED, -self.priority, self.name


def _digest(service: BootstrapService, redeploy: str) -> str:
    return digest({"service": service.to_object(), "redeploy": redeploy})


_digest_of = memoize(_digest, size=BODIES)


@dataclass(frozen=True, slots=True)
class DesiredService:
    """The desired state of one service."""

    service: BootstrapService
    source: ServiceSource
    redeploy: str = ""
    """The last order to replace its pods; "" for none."""
    _digest: str = field(default="", init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The identity of the service in its datacenter."""
        return self.service.name

    @property
    def digest(self) -> str:
        """Name everything that a change of rolls out: the whole body, and the order.

        Computed once.
        """
        if not self._digest:
            object.__setattr__(self, "_digest", _digest_of(self.service, self.redeploy))
        return self._digest


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed."""

    reason: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ServiceProgress:
    """The progress of a service. For users, and only for the time of the next attempt."""

    state: RowState = "Pending"
    message: str = ""
    digest: str = ""
    """The digest of the spec that was tried last: attempts and failure are of that one."""
    attempts: int = 0
    next_retry: datetime | None = None
    """None after a failure: only a change is worth another attempt."""
    failure: Failure | None = None
    running_since: datetime | None = None
    ready: str = ""
    provider_ref: str = ""
    service_refs: tuple[tuple[str, str], ...] = ()
    """Names and objects, sorted."""


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """One service of one datacenter, as a store keeps it."""

    id: str
    """Assigned by the store; never that of another record, not even of a deleted one."""
    datacenter: DatacenterInfo
    desired: DesiredService
    progress: ServiceProgress = field(default_factory=ServiceProgress)
    retiring: bool = False
    """It is being removed, and is kept until its objects are gone."""
    version: str = ""
    """Of the store: a write based on another version is refused."""
    moved: bool = False
    """The store still has another provider for it than its datacenter, and an update corrects it:
    nothing may be created before, or its creator would be unknown."""

    @property
    def name(self) -> str:
        """The identity of the service in its datacenter."""
        return self.desired.name


@dataclass(frozen=True, slots=True)
class Vault:
    """What other services may know of an OpenBaoCluster that is ready. Never a token or a key."""

    service: str
    address: str
    """URL, such as https://fra1-vault-public.dc-fra1.svc:8200."""
    ca_secret: str
    """Name of the Secret in the namespace of the datacenter whose ca.crt is the authority."""
    roles: tuple[str, ...] = ()
    """<mount>/<role> for each role that its first boot makes, sorted."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a provider observes of a service."""

    present: bool = False
    """Some object of it is there, be it one that is being deleted."""
    digest: str = ""
    """The digest of the spec that all objects were created from; "" while one is missing."""
    well: bool = False
    """The workload itself says that it is as its spec asks, all pods of the present spec ready."""
    ready: int = 0
    wanted: int = 0
    message: str = ""
    """What the workload waits for, for users."""
    provider_ref: str = ""
    service_refs: tuple[tuple[str, str], ...] = ()
    vault: Vault | None = None
    """Only for a well one of kind OpenBaoCluster."""
