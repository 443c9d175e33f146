"""Facts about one cluster, read at the start of a pass; frozen, and judged by nobody here.

Made by `managers.cluster.observe`; read by resolve, plan and status. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from contracts.labels import Registration


@dataclass(frozen=True, slots=True)
class ContainerExit:
    """How the server container ended the last time it ended."""

    code: int
    message: str


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


@dataclass(frozen=True, slots=True)
class StatefulSetFacts:
    """The live StatefulSet."""

    uid: str
    replicas: int
    ready_replicas: int
    template: str
    """Digest annotation of the pod template."""
    first_boot: bool
    """Its template still carries the `initialize` document."""
    settled: bool
    """The StatefulSet controller has seen the newest spec."""
    claim_size: str
    claim_class: str | None
    """Size and class in the claim template, which can never be changed in place."""


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """One data volume claim."""

    name: str
    uid: str
    owner_uid: str
    terminating: bool


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """A certificate found in a Secret."""

    fingerprint: str
    not_before: datetime
    not_after: datetime
    dns_names: frozenset[str]
    ip_addresses: frozenset[str]
    key_matches: bool
    issuer_fingerprint: str
    """Fingerprint of the CA that signed it; "" when the CA at hand did not."""


@dataclass(frozen=True, slots=True)
class SecretFacts:
    """A Secret of a name that we use; `None` in its place means that it does not exist.

    `mine` is by owner UID. Content appears only where a decision needs it, and never a key.
    """

    name: str
    uid: str
    mine: bool
    owner: str
    """The present owner in words, for a message; "" when it is us."""
    terminating: bool
    certificate: CertificateFacts | None = None
    authority: str = ""
    """PEM of the authority that the Secret names, which is public."""
    problem: str = ""
    """Why the content cannot be used; "" when it can, or when nobody looked."""


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Who signs this cluster's ServiceAccount tokens: OIDC discovery of the API server."""

    issuer: str
    public_keys: tuple[str, ...]
    """PEM, sorted."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that the decisions of one pass may look at."""

    now: datetime
    stateful_set: StatefulSetFacts | None = None
    pods: tuple[PodFacts, ...] = ()
    claims: tuple[ClaimFacts, ...] = ()
    secrets: Mapping[str, SecretFacts] = field(default_factory=dict)
    token_issuer: TokenIssuer | None = None
    rolling_since: datetime | None = None
    """Since when, by the last status, pods are being replaced; None when they are not."""
    api_server_hosts: tuple[str, ...] = ()
    """Addresses under which pods reach the API server, without port."""

    def pod(self, ordinal: int) -> PodFacts | None:
        """Return the pod of an ordinal, if there is one."""
        return next((pod for pod in self.pods if pod.ordinal == ordinal), None)

    @property
    def leaders(self) -> tuple[PodFacts, ...]:
        """Pods that say they are the active server."""
        return tuple(p for p in self.pods if p.registration.active and not p.terminating)

    @property
    def leader_in_doubt(self) -> bool:
        """Tell whether several servers run and not exactly one of them says that it leads."""
        running = sum(bool(pod.ip) and not pod.terminating for pod in self.pods)
        return running > 1 and len(self.leaders) != 1

    @property
    def holds_data(self) -> bool:
        """Tell whether a volume exists that may hold the data of this cluster."""
        return bool(self.claims)
