"""The common settings of all jobs of one cluster: image, account, login and trusted CA.

Built by managers.cluster.jobs.template_source, once per job; contracts.builders.job builds the pod
from it. No I/O.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.jobs.env import CA_PATH, ServerEnv
from contracts.naming.names import Job
from runtime.outcome import Blocked, Wait


@dataclass(frozen=True, slots=True)
class AuthorityFile:
    """The key of a Secret with the CAs that signed the servers' certificates."""

    secret: str
    key: str


@dataclass(frozen=True, slots=True)
class JobLogin:
    """The login of a job: a role of jwt-operator, or a token from a user.

    Exactly one of them is set.
    """

    role: str = ""
    token_secret: str = ""


@dataclass(frozen=True, slots=True)
class JobOverrides:
    """Settings of one backup or restore that override those of its cluster; "": no override."""

    image: str = ""
    role: str = ""
    token_secret: str = ""
    claim: str | None = None
    """PersistentVolumeClaim of the snapshots, "" for a store in the network; None: that of
    spec.backup."""


NO_OVERRIDES = JobOverrides()


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """The settings of one cluster for its jobs."""

    cluster: str
    namespace: str
    image: str
    """Reference for the pod: with the verified digest if a policy requires verification."""
    account: str
    """ServiceAccount of the pod."""
    audience: str
    """Audience of the token for the login."""
    login: JobLogin
    authority: AuthorityFile | None
    """None: the job trusts the CAs of its system."""
    server_name: str
    """Name in the certificates of the servers."""
    servers: tuple[str, ...]
    """Names of the pods that may be leader."""
    forbidden: tuple[str, ...] = ()
    """ADDRESS:PORT of the API server, which a job never uses as a store."""
    pull_secrets: tuple[str, ...] = ()
    fixed_ids: bool = True
    """The operator sets user and group; False on OpenShift."""
    confined: bool = False
    """`spec.workloadHardening.appArmorEnabled`."""
    nodes: Mapping[str, Any] = field(default_factory=dict)
    """nodeSelector and tolerations of the cluster, as in a PodSpec."""

    def server_env(self) -> ServerEnv:
        """Return the variables for the servers and the login."""
        env = ServerEnv(
            namespace=self.namespace,
            cluster=self.cluster,
            pods=self.servers,
            server_name=self.server_name,
            ca_path=CA_PATH if self.authority else "",
        )
        if self.login.role:
            return dataclasses.replace(env, auth="jwt", role=self.login.role)
        return dataclasses.replace(env, auth="token")


class JobTemplateSource(Protocol):
    """A source of the job template of a cluster."""

    async def of(
        self, cluster: OpenBaoCluster, job: Job, overrides: JobOverrides = NO_OVERRIDES
    ) -> JobTemplate | Wait | Blocked:
        """Return the template of a job, or why it is not available.

        May read a registry, for at most some seconds. Raises the errors of the API server.
        """
        ...
