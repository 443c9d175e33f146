"""The client config of the servers of a cluster: their CA bundle and their server name.

Pure; called by `managers.cluster.observe.observer`, which puts the result into `Observed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import PodFacts, ServerClientConfig
from contracts.records.secrets import SecretFacts
from contracts.tenancy import secret_access
from managers.context.authority_pem import ascii_pem


def tls_secrets(cluster: OpenBaoCluster, pods: Iterable[PodFacts]) -> tuple[str, ...]:
    """Name all Secrets with certificates."""
    names = (tls_names.authority_secret(cluster), tls_names.acme_ca_secret(cluster))
    present = (name for name in names if name)
    return tuple(dict.fromkeys((*present, *ca_secrets(cluster, pods))))


def ca_secrets(cluster: OpenBaoCluster, pods: Iterable[PodFacts]) -> tuple[str, ...]:
    """Name the Secrets with the CA, including former ones that pods still mount.

    Only Secrets that the cluster may name: a user who can write pods must not choose what is read.
    """
    access = secret_access(cluster)
    issuer = tls_names.acme_issuer_secret(cluster) if cluster.spec.tls.mode == "ACME" else None
    mounted = (pod.tls_secret for pod in pods if access.allows(pod.tls_secret))
    names = (tls_names.server_secret(cluster), issuer, *mounted)
    return tuple(dict.fromkeys(name for name in names if name))


def client_config_of(
    cluster: OpenBaoCluster, secrets: Mapping[str, SecretFacts], pods: Iterable[PodFacts]
) -> ServerClientConfig | None:
    """Return the client config of the servers; None when their CA is not known.

    While the certificates move from one Secret to another, both CAs are trusted.
    """
    name = tls_names.server_name(cluster)
    if cluster.spec.tls.mode == "ACME":
        issuer = tls_names.acme_issuer_secret(cluster)
        if issuer is None:
            # A public CA: the operator trusts the CAs of its system.
            return ServerClientConfig("", name)
        secret = secrets.get(issuer)
        return _client_config(secret.authority, name) if secret and secret.authority else None
    server_secret = secrets.get(tls_names.server_secret(cluster) or "")
    if (
        server_secret is None
        or not server_secret.authority
        or not _is_trusted(cluster, server_secret)
    ):
        return None
    previous = (secrets.get(pod.tls_secret) for pod in pods if pod.tls_secret != server_secret.name)
    cas = (server_secret.authority, *(secret.authority for secret in previous if secret))
    return _client_config("".join(f"{pem.strip()}\n" for pem in dict.fromkeys(cas) if pem), name)


def _client_config(authority: str, name: str) -> ServerClientConfig:
    return ServerClientConfig(ascii_pem(authority), name)


def _is_trusted(cluster: OpenBaoCluster, secret: SecretFacts) -> bool:
    """Report whether the Secret is ours, or an external one that the user named."""
    return secret.owned or cluster.spec.tls.mode == "External"
