"""Three servers share a cache and one certificate; joins, probes and the operator use its name."""

import ssl
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness import certificates, pebble
from e2e.harness.clusters import Cluster
from e2e.harness.handshake import accepts, served_serial
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.rig import Rig
from runtime.builtin_kinds import PVC, SECRET, SERVICE

NAME = "acme"
ROOTS = "acme-roots"


@pytest.mark.timeout(900)
def test_servers_get_their_certificate_from_the_acme_server(
    rig: Rig, api: Api, operator: Operator, namespace: str, tmp_path: Path
) -> None:
    domain = f"{names.acme_service(NAME)}.{namespace}.svc.cluster.local"
    with pebble.run_pebble(rig, tmp_path) as acme:
        settings = {
            "directoryURL": acme.directory,
            "domains": [domain],
            "email": "ops@example.com",
            "caSecretRef": {"name": ROOTS},
            "sharedCache": {"mode": "ManagedPVC", "size": "16Mi"},
        }
        api.create(
            CLUSTERS,
            manifest(
                namespace,
                NAME,
                replicas=3,
                tls={"mode": "ACME", "acme": settings},
                selfInit=self_init(key_value_engine()),
            ),
        )
        cluster = Cluster(api, namespace, NAME)
        condition = cluster.await_condition("Ready", "False", "TLSSecretMissing")
        assert ROOTS in condition["message"]
        roots = certificates.secret(
            namespace, ROOTS, ca_crt=acme.authority.pem, **{"pki-ca_crt": acme.issuer()}
        )
        api.create(SECRET, roots)
        cluster.await_available(300.0)
        cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
        cluster.await_condition("TLSReady", "True")

        addresses = [pod["status"]["podIP"] for pod in cluster.pods()]
        assert [accepts(address, domain, acme.issuer()) for address in addresses] == [""] * 3
        # B-25: without the cache each server would order its own certificate.
        assert len({served_serial(address, domain) for address in addresses}) == 1
        assert acme.certificate_count() == 1
        # No certificate is issued for a name that is not in the spec.
        with pytest.raises((ssl.SSLError, OSError)):
            served_serial(addresses[0], "elsewhere.example.com")
        assert acme.certificate_count() == 1

        service = api.get(SERVICE, namespace, names.acme_service(NAME))
        assert service["spec"]["publishNotReadyAddresses"] is True
        claim = api.get(PVC, namespace, names.acme_cache_claim(NAME))
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
        assert not claim["metadata"].get("ownerReferences")
