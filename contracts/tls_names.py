"""The TLS names of servers, and the Secrets of their certificates.

Uses contracts.naming.names, contracts.naming.mount_paths and the API model. Called by
contracts.hcl.tls (joins), managers.certs (mounts, certificates) and managers.cluster.observe (the
operator's own client), so that all use the same names; and by baoctl.commands.login, which does not
import the API model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contracts.naming import mount_paths, names

if TYPE_CHECKING:
    from contracts.api.cluster.spec import OpenBaoCluster

ISSUER_FILE = "pki-ca.crt"
"""File with the CA that signs the certificates of an ACME server; not the CA of its directory."""
CA_FILE = "ca.crt"


@dataclass(frozen=True, slots=True)
class TlsFields:
    """The fields of a cluster that determine these names; None for a field that is not set."""

    cluster: str
    namespace: str
    mode: str
    external_ca_secret: str | None = None
    domains: tuple[str, ...] = ()
    directory_secret: str | None = None
    """The Secret of spec.tls.acme.caSecretRef."""
    ca_root: str | None = None
    """spec.configuration.acmeCARoot."""
    seal_secret: str | None = None
    """The Secret of spec.unseal.credentialsSecretRef."""

    @property
    def server_name(self) -> str:
        """The TLS name that peers, probes and the operator request, for every address.

        In mode ACME no certificate contains the cluster's own name, and a server refuses a
        handshake for a name that is not one of its domains. So it is one of these domains.
        """
        if self.mode != "ACME":
            return names.raft_server_name(self.cluster)
        domains = self.acme_domains
        return next((domain for domain in domains if ".svc" in domain), domains[0])

    @property
    def acme_domains(self) -> tuple[str, ...]:
        """The names of the certificates in mode ACME, each once, in the user's order."""
        domains = tuple(dict.fromkeys(domain.lower() for domain in self.domains if domain))
        return domains or (names.service_dns(names.acme_service(self.cluster), self.namespace),)

    @property
    def acme_directory_ca(self) -> str | None:
        """The file with the CA of the ACME directory; None: the CAs of the image."""
        if self.ca_root is not None:
            return self.ca_root
        return None if self.directory_secret is None else f"{mount_paths.ACME_CA}/{CA_FILE}"

    @property
    def acme_issuer_ca(self) -> str | None:
        """The file with the CA that signs the servers' certificates; None: the CAs of the image.

        It is in the same folder as the CA of the directory, which may be another CA.
        """
        directory = self.acme_directory_ca
        return None if directory is None else f"{directory.rpartition('/')[0]}/{ISSUER_FILE}"

    @property
    def acme_issuer_secret(self) -> str | None:
        """The Secret with the file of `acme_issuer_ca`; None: the host's CAs are trusted."""
        file = self.acme_issuer_ca
        if file is None:
            return None
        if file.startswith(f"{mount_paths.SEAL_CREDENTIALS}/"):
            return self.seal_secret
        return self.directory_secret

    @property
    def authority_secret(self) -> str | None:
        """The Secret with the CA that clients trust; None in mode ACME."""
        return _authority_secret(self.mode, self.external_ca_secret, self.cluster)


def _authority_secret(mode: str, external: str | None, cluster: str) -> str | None:
    return None if mode == "ACME" else external or names.tls_ca_secret(cluster)


def tls_fields(cluster: OpenBaoCluster) -> TlsFields:
    """Return the fields of a cluster."""
    tls, unseal = cluster.spec.tls, cluster.spec.unseal
    external, acme = (tls.external if tls.mode == "External" else None), tls.acme
    authority = external.ca_secret_ref if external else None
    directory = acme.ca_secret_ref if acme else None
    return TlsFields(
        cluster=cluster.metadata.name,
        namespace=cluster.metadata.namespace,
        mode=tls.mode,
        external_ca_secret=authority.name if authority else None,
        domains=(acme.domains or (acme.domain or "",)) if acme else (),
        directory_secret=directory.name if directory else None,
        ca_root=cluster.spec.configuration.acme_ca_root,
        seal_secret=unseal.secret_name,
    )


def server_name(cluster: OpenBaoCluster) -> str:
    """Return the TLS name of its servers."""
    return tls_fields(cluster).server_name


def acme_domains(cluster: OpenBaoCluster) -> tuple[str, ...]:
    """Return the names of the certificates in mode ACME."""
    return tls_fields(cluster).acme_domains


def acme_directory_ca(cluster: OpenBaoCluster) -> str | None:
    """Return the file with the CA of the ACME directory."""
    return tls_fields(cluster).acme_directory_ca


def acme_issuer_ca(cluster: OpenBaoCluster) -> str | None:
    """Return the file with the CA that signs the servers' certificates in mode ACME."""
    return tls_fields(cluster).acme_issuer_ca


def acme_issuer_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret with the file of `acme_issuer_ca`."""
    return tls_fields(cluster).acme_issuer_secret


def acme_ca_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret that is mounted for the ACME client; None without one."""
    return tls_fields(cluster).directory_secret if cluster.spec.tls.mode == "ACME" else None


def server_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret that is mounted as certificate and key; None in mode ACME."""
    tls = cluster.spec.tls
    if tls.mode == "ACME":
        return None
    secret = tls.external.server_secret_ref if tls.mode == "External" and tls.external else None
    return secret.name if secret else names.tls_server_secret(cluster.metadata.name)


def authority_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret with the CA that clients trust; None in mode ACME.

    A reconcile calls it often, so it does not create the TlsFields.
    """
    tls = cluster.spec.tls
    secret = tls.external.ca_secret_ref if tls.mode == "External" and tls.external else None
    return _authority_secret(tls.mode, secret.name if secret else None, cluster.metadata.name)
