"""The TLS names of servers, and the Secrets of their certificates.

Uses contracts.naming.names, contracts.naming.mount_paths and the API model. Called by
contracts.hcl.tls (joins), managers.certs (mounts, certificates) and managers.cluster.observe (the
operator's own client), so that all use the same names.
"""

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import mount_paths, names

ISSUER_FILE = "pki-ca.crt"
"""File with the CA that signs the certificates of an ACME server; not the CA of its directory."""
CA_FILE = "ca.crt"


def server_name(cluster: OpenBaoCluster) -> str:
    """Return the TLS name that peers, probes and the operator request, for every address.

    In mode ACME no certificate contains the cluster's own name, and a server refuses a handshake
    for a name that is not one of its domains. So it is one of these domains.
    """
    if cluster.spec.tls.mode != "ACME":
        return names.raft_server_name(cluster.metadata.name)
    domains = acme_domains(cluster)
    return next((domain for domain in domains if ".svc" in domain), domains[0])


def acme_domains(cluster: OpenBaoCluster) -> tuple[str, ...]:
    """Return the names of the certificates in mode ACME, each once, in the user's order."""
    acme = cluster.spec.tls.acme
    configured = (acme.domains or (acme.domain,) if acme else ()) or ()
    domains = tuple(dict.fromkeys(domain.lower() for domain in configured if domain))
    service = names.acme_service(cluster.metadata.name)
    return domains or (names.service_dns(service, cluster.metadata.namespace),)


def acme_directory_ca(cluster: OpenBaoCluster) -> str | None:
    """Return the file with the CA of the ACME directory; None: the CAs of the image."""
    spec = cluster.spec
    if spec.configuration.acme_ca_root is not None:
        return spec.configuration.acme_ca_root
    if spec.tls.acme is None or spec.tls.acme.ca_secret_ref is None:
        return None
    return f"{mount_paths.ACME_CA}/{CA_FILE}"


def acme_issuer_ca(cluster: OpenBaoCluster) -> str | None:
    """Return the file with the CA that signs the servers' certificates; None: the CAs of the image.

    It is in the same folder as the CA of the directory, which may be another CA.
    """
    directory = acme_directory_ca(cluster)
    return None if directory is None else f"{directory.rpartition('/')[0]}/{ISSUER_FILE}"


def acme_issuer_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret with the file of `acme_issuer_ca`; None: the host's CAs are trusted."""
    file = acme_issuer_ca(cluster)
    if file is None:
        return None
    acme, credentials = cluster.spec.tls.acme, cluster.spec.unseal.credentials_secret_ref
    if file.startswith(f"{mount_paths.SEAL_CREDENTIALS}/"):
        return credentials.name if credentials else None
    return acme.ca_secret_ref.name if acme and acme.ca_secret_ref else None


def acme_ca_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret that is mounted for the ACME client; None without one."""
    tls = cluster.spec.tls
    if tls.mode != "ACME" or tls.acme is None or tls.acme.ca_secret_ref is None:
        return None
    return tls.acme.ca_secret_ref.name


def server_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret that is mounted as certificate and key; None in mode ACME."""
    name, tls = cluster.metadata.name, cluster.spec.tls
    if tls.mode == "ACME":
        return None
    if tls.mode == "External" and tls.external and tls.external.server_secret_ref:
        return tls.external.server_secret_ref.name
    return names.tls_server_secret(name)


def authority_secret(cluster: OpenBaoCluster) -> str | None:
    """Return the Secret with the CA that clients trust; None in mode ACME."""
    name, tls = cluster.metadata.name, cluster.spec.tls
    if tls.mode == "ACME":
        return None
    if tls.mode == "External" and tls.external and tls.external.ca_secret_ref:
        return tls.external.ca_secret_ref.name
    return names.tls_ca_secret(name)
