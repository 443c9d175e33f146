"""The observed state that `baoctl render` and `baoctl plan` assume: a healthy cluster.

Pure. Called by baoctl.commands.rendering.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.optional_kinds import OPTIONAL_KINDS
from contracts.records.environment import NO_ENDPOINTS, ApiEndpoints
from contracts.records.exposure import ExposureFacts
from contracts.records.observed import Observed, PoolFacts, StatefulSetFacts, TokenIssuer
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, CredentialFacts, SecretFacts
from managers.cluster.observe.secret_names import secret_names
from managers.context.installation import Installation
from runtime.cache.optional_kind import KindAvailability, OptionalKind

Phase = Literal["first-boot", "running"]
NO_UID = "00000000-0000-0000-0000-000000000000"
# A fixed time, at which the assumed certificates are valid. The output does not depend on it.
ASSUMED_TIME = datetime(2030, 1, 1, 12, tzinfo=UTC)
UNKNOWN = "known-in-the-cluster-only"
ISSUER = TokenIssuer("https://kubernetes.default.svc", (UNKNOWN,))


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The inputs of a rendering that are not in the manifest."""

    installation: Installation
    namespace: str
    """Namespace of a manifest that does not specify one."""
    api_server_hosts: tuple[str, ...]
    phase: Phase
    api_endpoints: ApiEndpoints = NO_ENDPOINTS


class _ValidKeys(Mapping[str, CredentialFacts]):
    """The keys of a Secret, each of which exists and is valid."""

    _VALID = CredentialFacts(
        size=32, blank=False, unseal_key=True, certificate=True, json_object=True
    )

    def __getitem__(self, key: str) -> CredentialFacts:
        return self._VALID

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def assume_observed(cluster: OpenBaoCluster, options: RenderOptions) -> Observed:
    # Without an observed StatefulSet, the rendered one depends only on the manifest.
    return Observed(
        now=ASSUMED_TIME,
        token_issuer=ISSUER,
        api_server_hosts=options.api_server_hosts,
        api_endpoints=options.api_endpoints,
        read=_read_replica_pool(cluster, options),
        exposure=ExposureFacts({kind.definition: _newest(kind) for kind in OPTIONAL_KINDS}),
    )


def _read_replica_pool(cluster: OpenBaoCluster, options: RenderOptions) -> PoolFacts:
    """Assume that the read replicas run: the operator adds none while there is no leader."""
    replicas = cluster.spec.servers - cluster.spec.replicas
    if options.phase == "first-boot" or not replicas:
        return PoolFacts()
    storage = cluster.spec.read_replicas.storage if cluster.spec.read_replicas else None
    voters = cluster.spec.storage
    live = StatefulSetFacts(
        uid=NO_UID,
        replicas=replicas,
        ready_replicas=replicas,
        template="",
        reload_hash="",
        first_boot=False,
        generation_observed=True,
        claim_size=str((storage.size if storage else None) or voters.size),
        claim_class=(storage.storage_class_name if storage else None) or voters.storage_class_name,
    )
    return PoolFacts(live)


def _newest(kind: OptionalKind) -> KindAvailability:
    """Assume that the API server serves the newest version that the operator can write."""
    return KindAvailability(True, kind.versions, kind.resources[0])


def assumed_secrets(cluster: OpenBaoCluster, resolved: Resolved) -> dict[str, SecretFacts]:
    tls = resolved.tls
    required = (
        *(name for name, _ in secret_names(cluster)),
        tls.server_secret,
        tls.authority_secret,
    )
    all_names = (*required, tls.acme_ca_secret, tls.issuer_secret)
    return {name: _secret(name, resolved) for name in all_names if name}


def _secret(name: str, resolved: Resolved) -> SecretFacts:
    certificate = CertificateFacts(
        fingerprint=UNKNOWN,
        not_before=ASSUMED_TIME - timedelta(days=1),
        not_after=ASSUMED_TIME + timedelta(days=3650),
        dns_names=frozenset(resolved.certificate_names),
        ip_addresses=frozenset(resolved.certificate_addresses),
        key_matches=True,
        issuer_fingerprint=UNKNOWN,
    )
    return SecretFacts(
        name=name,
        uid=NO_UID,
        owned=True,
        owner="",
        terminating=False,
        certificate=certificate,
        authority=UNKNOWN,
        trusted=(UNKNOWN,),
        chain_root=UNKNOWN,
        keys=_ValidKeys(),
    )
