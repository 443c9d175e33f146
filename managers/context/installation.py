"""Settings of this installation of the operator, the same for all clusters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from runtime.types import ObjectKey

if TYPE_CHECKING:
    # The command line imports this module, and does not need the RBAC tables.
    from contracts.rbac.rules import Reads

Platform = Literal["kubernetes", "openshift"]
Mode = Literal["cluster", "namespaces", "tenants"]
"""Which clusters are reconciled: all, those of some namespaces, those of tenants."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Frozen settings; read from flags and environment by baoctl.installation_settings."""

    namespace: str
    """Namespace of the operator."""
    service_account: str
    """ServiceAccount of the operator, which its role in OpenBao accepts."""
    image_repository: str
    """Repository of the server image; a cluster's version is the tag."""
    secret_recheck: float
    """Seconds between two reads of a Secret; Secrets are not watched."""
    operator_image: str = ""
    """Image of the operator, for ephemeral containers; "" if it is unknown."""
    platform: Platform = "kubernetes"
    """On Kubernetes the operator sets user and group of a pod; OpenShift sets them itself."""
    audience: str = "openbao-internal"
    """Prefix of the audience of each cluster; see `audience_of`."""
    shared_audience: bool = False
    """Whether servers that accept no other audience get tokens for `audience` itself."""
    admission_recheck: float = 600.0
    """Seconds between two reads of the admission policies."""
    pod_deadline: timedelta = timedelta(minutes=10)
    """Time for which an upgrade waits until one server is ready in the new release."""
    mode: Mode = "cluster"
    reads: Reads = "watch"
    """Whether the objects of a cluster are watched or read by name."""

    @property
    def subject(self) -> str:
        """The `sub` claim in the ServiceAccount tokens of the operator."""
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"

    @property
    def account(self) -> ObjectKey:
        """The operator's own ServiceAccount."""
        return ObjectKey(self.namespace, self.service_account)

    def audience_of(self, cluster: ObjectKey) -> str:
        """Return the audience of the tokens with which the operator and its jobs log in.

        Each cluster has its own audience, so a token for one cluster is not valid at another one.
        The audience contains the name and not the UID, because the data outlives the object: a
        cluster that is recreated on its volumes, or restored from a backup of Kubernetes, has
        another UID.
        """
        return f"{self.audience}/{cluster.namespace}/{cluster.name}"
