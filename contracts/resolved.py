"""The cluster as it was meant: every default, merge and choice made, once per pass.

Made by `managers.cluster.resolve`; every builder takes this and never the CR. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from contracts.hcl.render import ConfigInput
from runtime.ownership import Owner


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a spec cannot be honoured: field path, value, rule and next step in one message."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class NetworkWishes:
    """What `spec.network` asks for, beside the rules that are always there."""

    operator_namespace: str
    dns_namespace: str
    dns_endpoints: tuple[str, ...]
    api_server_cidrs: tuple[str, ...]
    api_server_endpoints: tuple[str, ...]
    trusted_peers: tuple[Mapping[str, Any], ...]
    ingress_rules: tuple[Mapping[str, Any], ...]
    egress_rules: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class PodWishes:
    """What the spec asks of a server pod."""

    image: str
    pull_secrets: tuple[str, ...]
    resources: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restart_at: str


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
    """How many members the raft cluster had when it was last asked; None: nobody could ask."""
    self_init: bool
    """The user's own requests initialise the server; else we leave a root token."""
    wants_operator_login: bool
    """`spec.selfInit.oidc.enabled`: the first boot sets up a login for the operator itself."""
    config: ConfigInput
    config_text: str
    """config.hcl, rendered once: two steps need it."""
    unseal_secret: str
    unseal_supplied: bool
    """The user brought the key: the Secret is only read, never made."""
    pod: PodWishes
    service_account: str
    service_account_annotations: Mapping[str, str]
    service_type: str
    service_annotations: Mapping[str, str]
    network: NetworkWishes
    storage_size: str
    storage_class: str | None
    certificate_names: tuple[str, ...]
    certificate_addresses: tuple[str, ...]
    rotate_before: timedelta
    """A certificate is renewed when it has less than this to live."""

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self.owner.name

    @property
    def namespace(self) -> str:
        """Namespace of the cluster and of everything that it owns."""
        return self.owner.namespace
