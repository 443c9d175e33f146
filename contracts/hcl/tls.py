"""The TLS attributes of the listener and of the joins in config.hcl.

Uses contracts.tls_names, contracts.naming.mount_paths and the API model. Called by
contracts.hcl.render. Attribute names: OpenBao 2.4.0, internalshared/configutil/listener.go and
physical/raft.
"""

from collections.abc import Mapping

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import mount_paths, names

_OWN_CACHE = f"{mount_paths.DATA}/acme"


def listener_attributes(cluster: OpenBaoCluster) -> Mapping[str, object]:
    """Return the certificate attributes of the listener, by `spec.tls.mode`."""
    acme = cluster.spec.tls.acme
    if cluster.spec.tls.mode != "ACME" or acme is None:
        return listener_files()
    return _without_none(
        {
            "tls_acme_ca_directory": acme.directory_url,
            "tls_acme_ca_root": tls_names.acme_directory_ca(cluster),
            # A single server stores it with its data: after a loss it orders new certificates, and
            # ACME servers have rate limits.
            "tls_acme_cache_path": mount_paths.ACME_CACHE if acme.shared_cache else _OWN_CACHE,
            "tls_acme_email": acme.email,
            # Without this list the server would order a certificate for any name of a client.
            "tls_acme_domains": tls_names.acme_domains(cluster),
            # The servers have no port for plain HTTP.
            "tls_acme_disable_http_challenge": True,
        }
    )


def join_attributes(cluster: OpenBaoCluster) -> Mapping[str, object]:
    """Return the TLS attributes of a joining server, by `spec.tls.mode`."""
    if cluster.spec.tls.mode != "ACME":
        return join_files(cluster.metadata.name)
    return _without_none(
        {
            "leader_tls_servername": tls_names.server_name(cluster),
            "leader_ca_cert_file": tls_names.acme_issuer_ca(cluster),
        }
    )


def listener_files() -> Mapping[str, object]:
    """Return the certificate attributes of the listener for a mounted Secret."""
    return {
        "tls_cert_file": f"{mount_paths.TLS}/tls.crt",
        "tls_key_file": f"{mount_paths.TLS}/tls.key",
        "tls_client_ca_file": f"{mount_paths.TLS}/ca.crt",
    }


def join_files(cluster: str) -> Mapping[str, object]:
    """Return the TLS attributes of a joining server for a mounted Secret."""
    return {
        "leader_tls_servername": names.raft_server_name(cluster),
        "leader_ca_cert_file": f"{mount_paths.TLS}/ca.crt",
        "leader_client_cert_file": f"{mount_paths.TLS}/tls.crt",
        "leader_client_key_file": f"{mount_paths.TLS}/tls.key",
    }


def _without_none(values: Mapping[str, object]) -> Mapping[str, object]:
    return {key: value for key, value in values.items() if value is not None}
