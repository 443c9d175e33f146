"""What is true of this installation of the operator, whatever cluster it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from contracts.rbac.rules import Reads
from runtime.types import ObjectKey

Platform = Literal["kubernetes", "openshift"]
Mode = Literal["cluster", "namespaces", "tenants"]
"""Whose clusters are looked at: everybody's, those of some namespaces, those of tenants."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Frozen settings; read from flags and environment by `baoctl.settings`."""

    namespace: str
    """Where the operator itself runs."""
    service_account: str
    """As whom it runs; the name in the login that it sets up in OpenBao."""
    image_repository: str
    """Repository of the server image; a cluster's version is the tag."""
    secret_recheck: float
    """Seconds between two looks at a Secret that nobody watches."""
    operator_image: str = ""
    """Image of the operator itself, for what it runs beside a server; "" when it is not known."""
    platform: Platform = "kubernetes"
    """Whether user and group of a pod are ours to choose, or follow from its namespace."""
    audience: str = "openbao-internal"
    """How the audience of each cluster begins; see `audience_of`."""
    admission_recheck: float = 600.0
    """Seconds between two looks at the admission policies."""
    pod_deadline: timedelta = timedelta(minutes=10)
    """How long an upgrade waits for one server to come back in the new release."""
    mode: Mode = "cluster"
    reads: Reads = "watch"
    """How the objects of a cluster are read."""

    @property
    def subject(self) -> str:
        """The operator as the `sub` of a ServiceAccount token."""
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"

    @property
    def account(self) -> ObjectKey:
        """The operator's own ServiceAccount."""
        return ObjectKey(self.namespace, self.service_account)

    def audience_of(self, cluster: ObjectKey) -> str:
        """Audience of the tokens with which the operator and its jobs log in to one cluster.

        No two clusters share one: what a server of one cluster is given opens no other. By name and
        not by UID, because data outlives the object: made anew over its volumes, or brought back
        from a backup of Kubernetes, a cluster has another UID, and its roles bind what they did.
        """
        return f"{self.audience}/{cluster.namespace}/{cluster.name}"
