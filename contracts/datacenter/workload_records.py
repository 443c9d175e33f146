"""The records of shared services, which sources, store, provider and state machine exchange.

Uses contracts.datacenter.service_spec. Values without I/O. Used by managers.datacenter and by
programs that embed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from contracts.datacenter.grants import NO_ACCESS, NodeAccess, ObjectKind
from contracts.datacenter.objects import State
from contracts.datacenter.service_spec import BODY_CACHE_SIZE, BootstrapService
from contracts.datacenter.workload import ServiceState
from runtime.apply.intent import digest
from runtime.memo import memoize

DECLARED = "declared"
"""The source that is the datacenter itself."""


@dataclass(frozen=True, slots=True)
class DatacenterInfo:
    """The data of a datacenter for hooks, stores and providers."""

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
    """The source of a service."""

    name: str
    priority: int = 0

    @property
    def rank(self) -> tuple[bool, int, str]:
        """The precedence of sources, highest first: declared, then priority, then name."""
        return self.name != DECLARED, -self.priority, self.name


def _digest(service: BootstrapService, redeploy: str) -> str:
    return digest({"service": service.to_object(), "redeploy": redeploy})


_digest_of = memoize(_digest, size=BODY_CACHE_SIZE)


@dataclass(frozen=True, slots=True)
class DesiredService:
    """The desired state of one service."""

    service: BootstrapService
    source: ServiceSource
    redeploy: str = ""
    """The token of the last redeploy request; "" for none."""
    _digest: str = field(default="", init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The identity of the service in its datacenter."""
        return self.service.name

    @property
    def digest(self) -> str:
        """The digest of everything that is rolled out: the body and the redeploy token.

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
    """The progress of a service. For users; decisions use only the last failure and its backoff."""

    state: ServiceState = "Pending"
    message: str = ""
    digest: str = ""
    """The digest of the last attempted spec, to which attempts and failure belong."""
    attempts: int = 0
    next_retry: datetime | None = None
    """None after a failure that only a change can resolve."""
    failure: Failure | None = None
    running_since: datetime | None = None
    ready: str = ""
    provider_ref: str = ""
    service_refs: tuple[tuple[str, str], ...] = ()
    """Names with references to objects, sorted."""


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """The stored record of one service of one datacenter."""

    id: str
    """Assigned by the store; never reused."""
    datacenter: DatacenterInfo
    desired: DesiredService
    progress: ServiceProgress = field(default_factory=ServiceProgress)
    retiring: bool = False
    """It is being removed; the record exists until its objects are gone."""
    version: str = ""
    """Version in the store (resourceVersion): a write based on another version is a conflict."""
    provider_changed: bool = False
    """The stored provider differs from that of the datacenter. An update corrects it before
    anything is created: otherwise the provider of the objects would be unknown."""

    @property
    def name(self) -> str:
        """The identity of the service in its datacenter."""
        return self.desired.name


@dataclass(frozen=True, slots=True)
class Vault:
    """Connection data of a ready OpenBaoCluster for other services. Never a token or a key."""

    service: str
    address: str
    """URL, such as https://fra1-vault-public.dc-fra1.svc:8200."""
    ca_secret: str
    """Name of the Secret in the namespace of the datacenter with the CA as ca.crt."""
    roles: tuple[str, ...] = ()
    """<mount>/<role> for each role that self-init creates, sorted."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of a service, as its provider observes it."""

    present: bool = False
    """At least one of its objects exists, possibly terminating."""
    digest: str = ""
    """The digest of the spec that all objects were created from; "" while one is missing."""
    healthy: bool = False
    """The status of the workload reports that its current spec is rolled out and ready."""
    ready: int = 0
    desired: int = 0
    message: str = ""
    """What the workload waits for, for users."""
    provider_ref: str = ""
    service_refs: tuple[tuple[str, str], ...] = ()
    vault: Vault | None = None
    """Only for a healthy service of kind OpenBaoCluster."""
