"""contracts.tls_names and contracts.hcl.tls: one name for joins, probes and clients (B-25)."""

from typing import Any

import pytest

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.hcl.tls import join_attributes, listener_attributes
from managers.workload.objects.probes import probes
from tests import gen


def cluster(mode: str = "ACME", **spec: Any) -> OpenBaoCluster:
    acme = {"directoryURL": "https://acme.example.com/dir", **spec.pop("acme", {})}
    tls = {"mode": mode, **({"acme": acme} if mode == "ACME" else {}), **spec.pop("tls", {})}
    return gen.cluster().with_spec(tls=tls, **spec).read()


# sentence: (cluster, domains, the name that all clients use)
NAMES: dict[str, tuple[OpenBaoCluster, tuple[str, ...], str]] = {
    "the Service by default": (cluster(), ("x-acme.ns.svc",), "x-acme.ns.svc"),
    "the deprecated field": (cluster(acme={"domain": "a.example.com"}), ("a.example.com",), ""),
    "the first": (
        cluster(acme={"domains": ["b.example.com", "a.example.com"]}),
        ("b.example.com", "a.example.com"),
        "b.example.com",
    ),
    "a name inside of Kubernetes before others": (
        cluster(acme={"domains": ["a.example.com", "x-acme.ns.svc.cluster.local"]}),
        ("a.example.com", "x-acme.ns.svc.cluster.local"),
        "x-acme.ns.svc.cluster.local",
    ),
    "each once, in lower case": (
        cluster(acme={"domains": ["A.example.com", "a.example.com"]}),
        ("a.example.com",),
        "",
    ),
}


@pytest.mark.parametrize(("one", "domains", "name"), NAMES.values(), ids=NAMES.keys())
def test_b25_one_name_for_join_probe_and_client(
    one: OpenBaoCluster, domains: tuple[str, ...], name: str
) -> None:
    domain = name or domains[0]
    assert tls_names.acme_domains(one) == domains
    assert tls_names.server_name(one) == domain
    assert listener_attributes(one)["tls_acme_domains"] == domains
    assert join_attributes(one)["leader_tls_servername"] == domain
    meant = gen.resolved(gen.cluster().with_spec(replicas=1, tls=one.spec.tls.to_object()))
    assert meant.tls.server_name == domain
    status = probes(meant.tls)["readinessProbe"]["exec"]["command"]
    assert f"-tls-server-name={domain}" in status
    # The kubelet sends no SNI; such a handshake fails or orders a certificate.
    assert "httpGet" not in str(probes(meant.tls))


@pytest.mark.parametrize("mode", ["OperatorManaged", "External"])
def test_b25_without_acme_the_name_of_the_cluster_is_used(mode: str) -> None:
    one = cluster(mode)
    assert tls_names.server_name(one) == "openbao-cluster-x.local"
    assert join_attributes(one)["leader_tls_servername"] == "openbao-cluster-x.local"
    meant = gen.resolved(gen.cluster().with_spec(tls={"mode": mode}))
    assert probes(meant.tls)["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_the_listener_in_mode_acme_has_no_certificate_file() -> None:
    one = cluster(acme={"email": "ops@example.com", "caSecretRef": {"name": "roots"}})
    assert listener_attributes(one) == {
        "tls_acme_ca_directory": "https://acme.example.com/dir",
        "tls_acme_ca_root": "/etc/bao/acme-ca/ca.crt",
        "tls_acme_cache_path": "/bao/data/acme",
        "tls_acme_email": "ops@example.com",
        "tls_acme_domains": ("x-acme.ns.svc",),
        "tls_acme_disable_http_challenge": True,
    }
    assert join_attributes(one)["leader_ca_cert_file"] == "/etc/bao/acme-ca/pki-ca.crt"


def test_the_cache_path_is_the_mount_of_the_shared_cache() -> None:
    one = cluster(acme={"sharedCache": {"mode": "ManagedPVC"}})
    assert listener_attributes(one)["tls_acme_cache_path"] == "/bao/acme-cache"


def test_a_public_acme_server_uses_the_trust_store_of_the_image() -> None:
    assert "tls_acme_ca_root" not in listener_attributes(cluster())
    assert "leader_ca_cert_file" not in join_attributes(cluster())
    assert tls_names.acme_issuer_secret(cluster()) is None


def test_the_deprecated_acme_ca_settings() -> None:
    one = cluster(
        configuration={"acmeCARoot": "/etc/bao/seal-creds/ca.crt"},
        unseal={"type": "transit", "credentialsSecretRef": {"name": "creds"}},
    )
    assert tls_names.acme_directory_ca(one) == "/etc/bao/seal-creds/ca.crt"
    assert tls_names.acme_issuer_ca(one) == "/etc/bao/seal-creds/pki-ca.crt"
    assert tls_names.acme_issuer_secret(one) == "creds"


REFS = {"serverSecretRef": {"name": "mine"}, "caSecretRef": {"name": "roots"}}
# sentence: (cluster, Secret of the servers, Secret of the CA)
SECRETS: dict[str, tuple[OpenBaoCluster, str | None, str | None]] = {
    "ours": (cluster("OperatorManaged"), "x-tls-server", "x-tls-ca"),
    "the user's, by the fixed names": (cluster("External"), "x-tls-server", "x-tls-ca"),
    "the user's, by reference": (cluster("External", tls={"external": REFS}), "mine", "roots"),
    "none": (cluster(), None, None),
}


@pytest.mark.parametrize(("one", "server", "authority"), SECRETS.values(), ids=SECRETS.keys())
def test_secrets(one: OpenBaoCluster, server: str | None, authority: str | None) -> None:
    assert (tls_names.server_secret(one), tls_names.authority_secret(one)) == (server, authority)
