"""The observed state of a reconcile: set piece by piece, or at once for a running cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from contracts.naming import names
from contracts.records.environment import AccountFacts, ApiEndpoints
from contracts.records.exposure import ExposureFacts
from contracts.records.observed import (
    EffectAttempt,
    Observed,
    PodFacts,
    PoolFacts,
    PvcFacts,
    Quorum,
    ServerClientConfig,
    TokenIssuer,
)
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, SecretFacts
from managers.cluster.resolve.resolve import resolve
from managers.context.installation import Installation, Platform
from managers.workload.objects.statefulset import template_digest
from managers.workload.rollout.reload import Files
from tests.gen.clusters import Cluster
from tests.gen.pods import Pod, pod
from tests.gen.secrets import AUTHORITY, AUTHORITY_TEXT, NOW, certificate, secret
from tests.gen.stateful_sets import StatefulSet, stateful_set

INSTALLATION = Installation(
    namespace="operators",
    service_account="the-operator",
    image_repository="registry.example.com/openbao",
    secret_recheck=15.0,
)
SERVER_FINGERPRINT = "fingerprint-of-the-server"


@dataclass(frozen=True, slots=True)
class World:
    """A builder of the observed state."""

    now: datetime = NOW
    stateful_set: StatefulSet | None = None
    pods: tuple[Pod, ...] = ()
    claims: tuple[PvcFacts, ...] = ()
    secrets: tuple[SecretFacts, ...] = ()
    issuer: TokenIssuer | None = None
    rolling: datetime | None = None
    waking: datetime | None = None
    quorum: Quorum | None = None
    attempts: tuple[EffectAttempt, ...] = ()
    api_servers: tuple[str, ...] = field(default=("10.96.0.1",))
    api_endpoints: ApiEndpoints = field(default=ApiEndpoints(("192.0.2.1",)))
    account: AccountFacts | None = None
    exposure: ExposureFacts = field(default=ExposureFacts())
    read_set: StatefulSet | None = None
    read_pods: tuple[Pod, ...] = ()
    read_claims: tuple[PvcFacts, ...] = ()
    client_config: ServerClientConfig | None = None
    missing_fields: tuple[str, ...] = ()

    def at(self, now: datetime) -> World:
        """Set the time."""
        return replace(self, now=now)

    def with_set(self, live: StatefulSet | None) -> World:
        """Set the StatefulSet."""
        return replace(self, stateful_set=live)

    def with_pods(self, *pods: Pod) -> World:
        """Set the pods."""
        return replace(self, pods=pods)

    def with_claims(self, *ordinals: int, owner: str = "uid-x", gone: bool = False) -> World:
        """Set the PVCs of these ordinals; those of `gone` are terminating."""
        claims = tuple(
            PvcFacts(names.data_claim("x", n), f"uid-claim-{n}", owner, gone) for n in ordinals
        )
        return replace(self, claims=self.claims + claims)

    def with_readers(self, live: StatefulSet | None, *pods: Pod) -> World:
        """Set the StatefulSet and the pods of the read replicas."""
        return replace(self, read_set=live, read_pods=pods)

    def with_read_claims(
        self, *ordinals: int, owner: str = "uid-x", gone: bool = False, removed: bool = False
    ) -> World:
        """Set the PVCs of these read replicas, and the `removed` raft peers."""
        claims = tuple(
            PvcFacts(
                names.read_data_claim("x", n),
                f"uid-read-claim-{n}",
                owner,
                gone,
                removed_peer=names.read_pod("x", n) if removed else "",
            )
            for n in ordinals
        )
        return replace(self, read_claims=self.read_claims + claims)

    def with_client_config(self) -> World:
        """Set the client config of the servers."""
        return replace(self, client_config=ServerClientConfig("the authority", "the name"))

    def with_secrets(self, *secrets: SecretFacts) -> World:
        """Add Secrets; one of the same name is replaced."""
        new = {fact.name for fact in secrets}
        return replace(
            self, secrets=(*(old for old in self.secrets if old.name not in new), *secrets)
        )

    def without_secrets(self, *gone: str) -> World:
        """Remove Secrets."""
        return replace(self, secrets=tuple(old for old in self.secrets if old.name not in gone))

    def rolling_for(self, age: timedelta) -> World:
        """Set the duration of the rollout."""
        return replace(self, rolling=self.now - age)

    def waking_for(self, age: timedelta) -> World:
        """Set the duration of the resume from hibernation."""
        return replace(self, waking=self.now - age)

    def with_quorum(self, quorum: Quorum | None) -> World:
        """Set the autopilot state that the leader reports."""
        return replace(self, quorum=quorum)

    def with_attempt(
        self, effect: str, uid: str, ago: timedelta = timedelta(0), refused: str = ""
    ) -> World:
        """Add an attempt of this process."""
        attempt = EffectAttempt(effect, uid, self.now - ago, refused)
        return replace(self, attempts=(*self.attempts, attempt))

    def reaching(self, *hosts: str, endpoints: tuple[str, ...] = (), port: int = 6443) -> World:
        """Set the addresses of the API server, and its endpoints."""
        return replace(self, api_servers=hosts, api_endpoints=ApiEndpoints(endpoints, port))

    def with_account(
        self, name: str, *, free: bool = True, annotations: Mapping[str, str] | None = None
    ) -> World:
        """Add the ServiceAccount of the spec; `free`: a user created it."""
        return replace(self, account=AccountFacts(name, free, annotations or {}))

    def with_exposure(self, ways: ExposureFacts) -> World:
        """Set the observed exposure."""
        return replace(self, exposure=ways)

    def with_issuer(self) -> World:
        """Set the token issuer of the API server."""
        return replace(self, issuer=TokenIssuer("https://issuer.example.com", ("PEM A", "PEM B")))

    def _seen(self, pod: Pod) -> PodFacts:
        """A ready pod serves the usual certificate, unless another one is set."""
        facts = pod.facts()
        usual = SERVER_FINGERPRINT if facts.ready else None
        return replace(facts, serves=usual if pod.serves is None else pod.serves)

    def facts(self) -> Observed:
        """The record that plans take."""
        return Observed(
            now=self.now,
            stateful_set=self.stateful_set.facts() if self.stateful_set else None,
            pods=tuple(self._seen(item) for item in self.pods),
            claims=self.claims,
            read=PoolFacts(
                self.read_set.facts() if self.read_set else None,
                tuple(self._seen(read_pod) for read_pod in self.read_pods),
                self.read_claims,
            ),
            client_config=self.client_config,
            secrets={fact.name: fact for fact in self.secrets},
            token_issuer=self.issuer,
            rolling_since=self.rolling,
            waking_since=self.waking,
            quorum=self.quorum,
            attempts=self.attempts,
            api_server_hosts=self.api_servers,
            api_endpoints=self.api_endpoints,
            account=self.account,
            exposure=self.exposure,
            missing_fields=self.missing_fields,
        )


def world() -> World:
    """An empty namespace at the beginning of 2030."""
    return World()


def resolved(cluster: Cluster, facts: World | None = None, on: Platform = "kubernetes") -> Resolved:
    """The resolved cluster; AssertionError if it is refused."""
    observed = (facts or world()).facts()
    answer = resolve(cluster.read(), cluster.owner(), observed, replace(INSTALLATION, platform=on))
    assert isinstance(answer, Resolved), answer
    return answer


def authority_certificate() -> CertificateFacts:
    """The certificate of the cluster's own authority."""
    return certificate(
        fingerprint=AUTHORITY, issuer=AUTHORITY, not_after=NOW + timedelta(days=3000)
    )


def server_certificate(meant: Resolved) -> CertificateFacts:
    """A valid server certificate."""
    return certificate(
        fingerprint=SERVER_FINGERPRINT,
        dns_names=meant.certificate_names,
        addresses=meant.certificate_addresses,
    )


def with_good_secrets(cluster: Cluster, facts: World) -> World:
    """The state with every Secret that the cluster needs."""
    meant = resolved(cluster, facts)
    secrets = [
        secret(meant.unseal_secret),
        secret(names.tls_ca_secret(cluster.name), certificate=authority_certificate()),
        secret(names.tls_server_secret(cluster.name), certificate=server_certificate(meant)),
    ]
    if not meant.self_init:
        secrets.append(secret(names.root_token_secret(cluster.name)))
    return facts.with_secrets(*secrets)


def digest_of(cluster: Cluster) -> str:
    """The template digest of an initialized cluster with that spec."""
    meant = resolved(cluster)
    return template_digest(meant, meant.restart_text)


def files_of(cluster: Cluster) -> str:
    """The digest of the files of a running server with that spec."""
    meant = resolved(cluster)
    files = Files(meant.config_text, SERVER_FINGERPRINT, AUTHORITY_TEXT, meant.reload_text)
    return files.digest


def running(cluster: Cluster) -> World:
    """The state of an initialized cluster without any pending change; pod 0 leads."""
    count = cluster.read().spec.replicas
    digest, files = digest_of(cluster), files_of(cluster)
    pods = (
        pod(n, cluster.name).with_template(digest).with_files(files).ready(leading=n == 0)
        for n in range(count)
    )
    there = (
        world()
        .with_set(
            stateful_set(cluster.name).with_replicas(count).with_template(digest).with_files(files)
        )
        .with_pods(*pods)
        .with_claims(*range(count), owner=cluster.owner().uid)
    )
    return with_good_secrets(cluster, there)
