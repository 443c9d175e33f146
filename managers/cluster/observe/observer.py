"""The observe step: caches, Secrets by name, and facts about the API server.

Reads only, without decisions. Called by managers.cluster.reconcile and managers.cluster.adminops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.naming import labels, names
from contracts.owned_kinds import PRUNED
from contracts.pause import resumed_at
from contracts.pools.voter_pool import voter_pools
from contracts.records.environment import AccountFacts
from contracts.records.exposure import NO_FACTS
from contracts.records.observed import (
    ImageVerdict,
    NamedPvcFacts,
    Observed,
    PodFacts,
    ServerClientConfig,
    TokenIssuer,
)
from contracts.records.resolved import AcmeVolume, AuditVolume
from contracts.records.secrets import SecretFacts
from contracts.records.upgrade import NO_FACTS as NO_UPGRADE
from managers.bao.login import Logins
from managers.bootstrap.seal.keys import (
    ServerEvidence,
    is_misnamed,
    live_ring,
    needs_key_secrets,
    unseal_secrets,
)
from managers.bootstrap.server_pod_part import audit_volume
from managers.certs.pod_part import tls_settings
from managers.certs.probe import ServedCertificates
from managers.cluster.observe.cache_refresh import CacheRefresher, watch_refresher
from managers.cluster.observe.client_config import ca_secrets, client_config_of, tls_secrets
from managers.cluster.observe.exposure import ExposureObserver
from managers.cluster.observe.foreign import foreign_objects
from managers.cluster.observe.from_objects import (
    SecretReading,
    account_facts,
    named_pvc_facts,
    secret_facts,
    server_facts,
)
from managers.cluster.observe.pools import pools_of
from managers.cluster.observe.secret_names import secret_names
from managers.cluster.observe.status_evidence import with_corrected_status
from managers.context.attempt_log import AttemptLog
from managers.context.installation import Installation
from managers.context.reads.admission_policies import AdmissionPolicies
from managers.context.reads.api_server import ApiServer
from managers.context.reads.secrets import SecretStore
from managers.context.reads.served_schemas import ServedSchemas
from managers.identity.account import account_name
from managers.images.plan import images_of
from managers.images.policy import operator_image_request, server_image_request
from managers.images.verifier import ImageVerifier
from managers.membership.find_leader import resolve_leader
from managers.membership.quorum import read_quorum
from managers.membership.quorum_refusal import interpret
from managers.upgrade.effective_spec import with_accepted_release, with_target_release
from managers.upgrade.observe import UpgradeObserver
from managers.workload.plan import wants_quorum
from managers.workload.scale.hibernate import waking_since
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD, PVC, SERVICE_ACCOUNT, STATEFUL_SET
from runtime.cache.cache import Cache
from runtime.cache.cached_read import ObjectReads
from runtime.clock import Clock
from runtime.types import Object, ObjectKey, Resource, key_of, labels_of

CLUSTER_INDEX = "cluster"
# Factor of the maximum age for a key that was absent.
ABSENT_KEY = 4


def by_cluster(obj: Object) -> Iterable[str]:
    """Index function: `namespace/cluster` of an object that carries our cluster label."""
    cluster = labels_of(obj).get(labels.CLUSTER)
    return () if cluster is None else (f"{key_of(obj).namespace}/{cluster}",)


@dataclass(frozen=True, slots=True)
class ObserverDependencies:
    """Dependencies of an observer in addition to caches and Secrets; None: not read."""

    logins: Logins
    attempts: AttemptLog
    served: ServedCertificates | None = None
    named_claims: ObjectReads | None = None
    images: ImageVerifier | None = None
    accounts: ObjectReads | None = None
    exposure: ExposureObserver | None = None
    cache_refresher: CacheRefresher | None = None
    """None: all kinds are watched."""
    admission: AdmissionPolicies | None = None
    schemas: ServedSchemas | None = None
    upgrades: UpgradeObserver | None = None


class ClusterObserver:
    """Collects the facts for one reconcile."""

    def __init__(
        self,
        informers: Mapping[Resource, Cache],
        secrets: SecretStore[SecretReading],
        api_server: ApiServer,
        clock: Clock,
        installation: Installation,
        dependencies: ObserverDependencies,
    ) -> None:
        self._informers = informers
        self._secrets = secrets
        self._api_server = api_server
        self._clock = clock
        self.installation = installation
        self.logins = dependencies.logins
        self._attempts = dependencies.attempts
        self._served = dependencies.served
        self._named_claims = dependencies.named_claims
        self._images = dependencies.images
        self._accounts = dependencies.accounts
        self._exposure = dependencies.exposure
        self._admission = dependencies.admission
        self._schemas = dependencies.schemas
        self._upgrades = dependencies.upgrades
        self.cache_refresher = dependencies.cache_refresher or watch_refresher(
            clock, installation.secret_recheck
        )
        for resource in (POD, PVC):
            informers[resource].add_index(CLUSTER_INDEX, by_cluster)

    async def observe(self, cluster: OpenBaoCluster, owner: Owner) -> Observed:
        """Read all inputs of the decisions about one cluster."""
        await self.cache_refresher.refresh(cluster, owner)
        slot = str(owner.key)
        pods = self._informers[POD].by_index(CLUSTER_INDEX, slot)
        volumes = self._informers[PVC].by_index(CLUSTER_INDEX, slot)
        pools = pools_of(cluster, owner, self._informers[STATEFUL_SET].get, (pods, volumes))
        cluster = with_corrected_status(cluster, pools.voters, self.installation.image_repository)
        stateful_set, servers = pools.voters.stateful_set, pools.servers
        claims = pools.voters.claims or pools.read.claims
        holds_data = cluster.status.initialized or bool(claims)
        evidence = ServerEvidence(stateful_set, pools.voters.pods, holds_data, self._clock.now())
        readings = await self._read_secrets(cluster, owner, servers, evidence)
        pools = pools.with_pod_facts(await self._with_certificates(cluster, readings, servers))
        clusters = with_accepted_release(cluster)
        needs_issuer = cluster.spec.wants_operator_login and not cluster.status.initialized
        observed = Observed(
            now=self._clock.now(),
            stateful_set=stateful_set,
            pods=pools.voters.pods,
            claims=pools.voters.claims,
            read=pools.read,
            green=pools.green,
            unknown_pools=pools.unknown_pools,
            existing_pools=pools.existing_pools,
            secrets=readings,
            client_config=client_config_of(cluster, readings, servers),
            acme_claim=await self._named_claim(tls_settings(cluster).acme_volume, owner),
            audit_claim=await self._named_claim(
                audit_volume(owner.name, cluster.spec.audit_file_storage), owner
            ),
            token_issuer=await self._api_server.token_issuer() if needs_issuer else None,
            members=members(cluster.status),
            rolling_since=rolling_since(cluster.status),
            resumed_at=resumed_at(cluster, self._clock.now()),
            waking_since=waking_since(cluster, self._clock.now()),
            api_server_hosts=await self._api_server.hosts(),
            api_endpoints=await self._api_server.endpoints(),
            account=await self._account(cluster, owner),
            admission=self._admission.facts if self._admission else None,
            missing_fields=self._schemas.missing_fields if self._schemas else (),
            upgrade=await self._upgrades.facts(cluster) if self._upgrades else NO_UPGRADE,
            foreign_objects=foreign_objects(owner, self._informers, PRUNED, stateful_set),
        )
        claims = (*observed.claims, *observed.green.claims, *observed.read.claims)
        uids = {owner.uid, *(pod.uid for pod in observed.servers), *(pvc.uid for pvc in claims)}
        observed = replace(
            observed,
            attempts=self._attempts.of(frozenset(uids)),
            images=await self._verdicts((clusters, with_target_release(cluster)), owner, observed),
            exposure=await self._exposure.facts(cluster, owner) if self._exposure else NO_FACTS,
        )
        if not cluster.status.initialized:
            return observed
        if observed.leader_in_doubt:
            observed = await self._with_leader(observed, owner)
        image = images_of(clusters.spec, self.installation, observed).operator_image
        if wants_quorum(clusters.spec, observed, image, _server_fingerprint(cluster, readings)):
            observed = await self._with_quorum(observed, cluster, owner)
        return observed

    async def _verdicts(
        self,
        clusters: tuple[OpenBaoCluster, OpenBaoCluster | None],
        owner: Owner,
        observed: Observed,
    ) -> Mapping[str, ImageVerdict]:
        """Verify the images of the serving pool, and of green."""
        spec, installation = clusters[0].spec, self.installation
        if self._images is None or spec.paused:
            return {}
        servers = (
            server_image_request(version.spec, owner.namespace, installation.image_repository)
            for version in clusters
            if version is not None
        )
        candidates = (
            operator_image_request(spec, owner.namespace, installation.operator_image),
            *servers,
        )
        # Each image is verified once.
        questions = {image.reference: image for image in candidates if image is not None}
        stateful_sets = (observed.stateful_set, observed.green.stateful_set)
        records = tuple(text for live in stateful_sets if live for text in live.image_records)
        return await self._images.verdicts(questions.values(), records)

    async def _account(self, cluster: OpenBaoCluster, owner: Owner) -> AccountFacts | None:
        name = account_name(cluster)
        if name is None:
            return None
        key = ObjectKey(owner.namespace, name)
        live = self._informers[SERVICE_ACCOUNT].get(key)
        if live is None and self._accounts is not None:
            live = await self._accounts.value((SERVICE_ACCOUNT, key))
        return None if live is None else account_facts(live)

    async def _with_quorum(
        self, observed: Observed, cluster: OpenBaoCluster, owner: Owner
    ) -> Observed:
        login = self.logins.for_cluster(cluster, owner)
        client_config = observed.client_config
        if login is None or client_config is None:
            return observed
        async with self.logins.session(client_config.authority, client_config.server_name) as bao:
            answer = await read_quorum(bao, observed.servers, login)
        return replace(observed, quorum=interpret(answer, cluster))

    async def _with_leader(self, observed: Observed, owner: Owner) -> Observed:
        client_config = observed.client_config
        if client_config is None:
            return observed
        async with self.logins.session(client_config.authority, client_config.server_name) as bao:
            return observed.with_servers(await resolve_leader(bao, observed.servers))

    async def _with_certificates(
        self,
        cluster: OpenBaoCluster,
        secrets: Mapping[str, SecretFacts],
        pods: tuple[PodFacts, ...],
    ) -> tuple[PodFacts, ...]:
        """Probe the certificates that ready pods serve, where the expected one is known."""
        server = secrets.get(tls_names.server_secret(cluster) or "")
        if self._served is None or server is None or server.certificate is None:
            return pods
        expected = server.certificate.fingerprint
        served = await self._served.of(pods, expected, tls_names.server_name(cluster))
        return tuple(replace(pod, serves=served.get(pod.uid)) for pod in pods)

    async def _named_claim(
        self, volume: AcmeVolume | AuditVolume | None, owner: Owner
    ) -> NamedPvcFacts | None:
        if volume is None or self._named_claims is None:
            return None
        live = await self._named_claims.value((PVC, ObjectKey(owner.namespace, volume.claim)))
        return None if live is None else named_pvc_facts(live)

    async def client_config(
        self, cluster: OpenBaoCluster, owner: Owner
    ) -> ServerClientConfig | None:
        """Return the client config of the servers; None when their CA is not known."""
        await self.cache_refresher.ensure_filled(cluster, owner)
        slot = str(owner.key)
        pods = server_facts(
            voter_pools(cluster), self._informers[POD].by_index(CLUSTER_INDEX, slot)
        )
        contents = dict.fromkeys(ca_secrets(cluster, pods), True)
        return client_config_of(cluster, await self._facts_of(contents, owner), pods)

    async def token_issuer(self) -> TokenIssuer | None:
        """Return the issuer of ServiceAccount tokens, from the API server or the cache."""
        return await self._api_server.token_issuer()

    def forget(self, key: ObjectKey) -> None:
        """Drop the cached Secrets and PVCs of a deleted cluster."""
        self.cache_refresher.forget(key)
        self._secrets.forget(key)
        # Any user may put our label on a pod, with an invalid cluster name.
        if self._named_claims is not None and names.is_cluster_name(key.name):
            for pvc in (names.audit_claim(key.name), names.acme_cache_claim(key.name)):
                self._named_claims.drop((PVC, ObjectKey(key.namespace, pvc)))

    async def _read_secrets(
        self,
        cluster: OpenBaoCluster,
        owner: Owner,
        pods: tuple[PodFacts, ...],
        servers: ServerEvidence,
    ) -> dict[str, SecretFacts]:
        unseal, ring_in_status = cluster.spec.unseal, ring_of(cluster.status)
        live = live_ring(servers, ring_in_status)
        ring = "" if live is None else str(live)
        contents = dict(secret_names(cluster, ring))
        contents |= dict.fromkeys(tls_secrets(cluster, pods), True)
        searching = needs_key_secrets(unseal, servers, ring_in_status)
        facts = {} if searching else await self._facts_of(contents, owner)
        if not searching and not is_misnamed(owner.name, unseal, ring, facts):
            return facts
        candidates = unseal_secrets(owner.name, unseal, ring, all_generations=True)
        # Few of these exist: absent ones are read less often.
        rarely_read = [name for name in candidates if name not in contents]
        return await self._facts_of(dict.fromkeys(candidates, False) | contents, owner, rarely_read)

    async def _facts_of(
        self, contents: Mapping[str, bool], owner: Owner, rarely_read: Iterable[str] = ()
    ) -> dict[str, SecretFacts]:
        """Read Secrets; `contents` maps each name to whether the content is read."""
        age = self.cache_refresher.secret_age(owner)
        space = owner.namespace
        absent = {
            name for name in rarely_read if self._secrets.last_facts(ObjectKey(space, name)) is None
        }
        readings = await asyncio.gather(
            *(
                self._secrets.facts(
                    ObjectKey(owner.namespace, name),
                    reader=owner,
                    max_age=age * ABSENT_KEY if name in absent else age,
                    content=content,
                )
                for name, content in contents.items()
            )
        )
        return {
            name: secret_facts(reading, owner)
            for name, reading in zip(contents, readings, strict=True)
            if reading is not None
        }


def _server_fingerprint(cluster: OpenBaoCluster, secrets: Mapping[str, SecretFacts]) -> str:
    """Return the fingerprint of the certificate that the servers should serve; "" if unknown."""
    server = secrets.get(tls_names.server_secret(cluster) or "")
    return server.certificate.fingerprint if server and server.certificate else ""


def members(status: ClusterStatus) -> int | None:
    """Return the number of raft members without read replicas from the status; None: unknown."""
    raft = status.admin_ops.raft if status.admin_ops else None
    return None if raft is None else raft.voters + raft.non_voters - (raft.read_replicas or 0)


def rolling_since(status: ClusterStatus) -> datetime | None:
    """Return the start of the running rollout from the last status; None without a rollout."""
    return status.workload.rolling_since if status.workload else None


def ring_of(status: ClusterStatus) -> str:
    """Return the static seal keys that the servers know, from the last status; "" if unknown."""
    return status.unseal.keys if status.unseal else ""
