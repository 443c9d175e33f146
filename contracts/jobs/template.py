"""What all jobs of one cluster have in common: image, account, login, and whom they may believe.

Made by managers.cluster.jobs.template_source, once per job; shown as a pod by
contracts.builders.job. No I/O.
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
    """The one key of a Secret with the authorities that signed the servers' certificates."""

    secret: str
    key: str


@dataclass(frozen=True, slots=True)
class JobLogin:
    """How a job logs in: by a role of jwt-operator, or with a token that a person made.

    Exactly one of them is set.
    """

    role: str = ""
    token_secret: str = ""


@dataclass(frozen=True, slots=True)
class JobOverrides:
    """What one backup or restore says itself, before its cluster is asked; "" says nothing."""

    image: str = ""
    role: str = ""
    token_secret: str = ""
    claim: str | None = None
    """PersistentVolumeClaim that snapshots are kept on, "" for a store in the network; None: as
    spec.backup says."""


NOTHING_ASKED = JobOverrides()


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """One cluster as its jobs see it."""

    cluster: str
    namespace: str
    image: str
    """Reference that is written into the pod: pinned to what was proven, if a policy asks."""
    account: str
    """ServiceAccount of the pod."""
    audience: str
    """Of the token for the login."""
    login: JobLogin
    authority: AuthorityFile | None
    """None: those of the system are trusted."""
    server_name: str
    """Name that the certificates of the servers carry."""
    servers: tuple[str, ...]
    """Names of the pods that may lead."""
    forbidden: tuple[str, ...] = ()
    """ADDRESS:PORT of the API server; no store is there."""
    pull_secrets: tuple[str, ...] = ()
    fixed_ids: bool = True
    """User and group are ours to choose; not on OpenShift."""
    confined: bool = False
    """`spec.workloadHardening.appArmorEnabled`."""
    nodes: Mapping[str, Any] = field(default_factory=dict)
    """nodeSelector and tolerations of the cluster, as a PodSpec has them."""

    def server_env(self) -> ServerEnv:
        """The servers and the login, as the job reads them."""
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
        self, cluster: OpenBaoCluster, job: Job, overrides: JobOverrides = NOTHING_ASKED
    ) -> JobTemplate | Wait | Blocked:
        """Return the template of a job, or the reason why there is none.

        May ask a registry, for at most some seconds. Raises the errors of the API server.
        """
        ...
