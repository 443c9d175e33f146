"""The observe step: caches, Secrets by name, and what the API server says of itself.

Reads only, and decides nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from contracts import labels, names
from contracts.api.cluster import OpenBaoCluster
from contracts.api.cluster_status import ClusterStatus
from contracts.observed import Observed, SecretFacts
from managers.access.installation import Installation
from managers.access.secrets import SecretStore
from managers.access.token_issuer import ApiServer
from managers.bao.client import Bao
from managers.cluster.facts import (
    SecretReading,
    claim_facts,
    pod_facts,
    secret_facts,
    stateful_set_facts,
)
from managers.membership.leadership import ask_who_leads
from managers.workload.plan import ROLLING_OUT
from runtime.clock import Clock
from runtime.informer import Informer
from runtime.ownership import Owner
from runtime.resources import POD, PVC, STATEFUL_SET
from runtime.types import Object, ObjectKey, Resource, key_of, labels_of

CLUSTER_INDEX = "cluster"


def by_cluster(obj: Object) -> Iterable[str]:
    """Index function: `namespace/cluster` of an object that carries our cluster label."""
    cluster = labels_of(obj).get(labels.CLUSTER)
    return () if cluster is None else (f"{key_of(obj).namespace}/{cluster}",)


class Observer:
    """Collects the facts for one pass."""

    def __init__(
        self,
        informers: Mapping[Resource, Informer],
        secrets: SecretStore[SecretReading],
        api_server: ApiServer,
        clock: Clock,
        installation: Installation,
    ) -> None:
        self._informers = informers
        self._secrets = secrets
        self._api_server = api_server
        self._clock = clock
        self.installation = installation
        for resource in (POD, PVC):
            informers[resource].add_index(CLUSTER_INDEX, by_cluster)

    async def observe(self, cluster: OpenBaoCluster, owner: Owner) -> Observed:
        """Read everything that the decisions about one cluster may look at."""
        slot = str(owner.key)
        readings = await self._read_secrets(cluster, owner)
        needs_issuer = cluster.spec.wants_operator_login and not cluster.status.initialized
        observed = Observed(
            now=self._clock.now(),
            stateful_set=stateful_set_facts(self._informers[STATEFUL_SET].get(owner.key)),
            pods=pod_facts(owner.name, self._informers[POD].by_index(CLUSTER_INDEX, slot)),
            claims=claim_facts(owner.name, self._informers[PVC].by_index(CLUSTER_INDEX, slot)),
            secrets=readings,
            token_issuer=await self._api_server.token_issuer() if needs_issuer else None,
            rolling_since=rolling_since(cluster.status),
            api_server_hosts=await self._api_server.hosts(),
        )
        if cluster.status.initialized and observed.leader_in_doubt:
            return await self._with_leader(observed, owner)
        return observed

    async def _with_leader(self, observed: Observed, owner: Owner) -> Observed:
        server = observed.secrets.get(names.tls_server_secret(owner.name))
        if server is None or not server.mine or not server.authority:
            return observed
        async with Bao(server.authority, names.raft_server_name(owner.name)) as bao:
            return replace(observed, pods=await ask_who_leads(bao, observed.pods))

    async def server_secret(self, cluster: OpenBaoCluster, owner: Owner) -> SecretFacts | None:
        """Read the server certificate alone; None when it is not there or not ours."""
        name = names.tls_server_secret(cluster.metadata.name)
        reading = await self._secrets.facts(
            ObjectKey(owner.namespace, name),
            reader=owner.uid,
            max_age=self.installation.secret_recheck,
            content=True,
        )
        facts = None if reading is None else secret_facts(reading, owner)
        return facts if facts is not None and facts.mine else None

    def forget(self, key: ObjectKey) -> None:
        """Drop what is known of the Secrets of a cluster that is gone."""
        if not names.is_cluster_name(key.name):
            # Anybody may put our label on a pod, with the name of a cluster that cannot be.
            return
        for name in (
            names.tls_ca_secret(key.name),
            names.tls_server_secret(key.name),
            names.unseal_key_secret(key.name),
            names.root_token_secret(key.name),
        ):
            self._secrets.drop(ObjectKey(key.namespace, name))

    async def _read_secrets(self, cluster: OpenBaoCluster, owner: Owner) -> dict[str, SecretFacts]:
        wanted = secret_names(cluster)
        readings = await asyncio.gather(
            *(
                self._secrets.facts(
                    ObjectKey(owner.namespace, name),
                    reader=owner.uid,
                    max_age=self.installation.secret_recheck,
                    content=content,
                )
                for name, content in wanted
            )
        )
        return {
            name: secret_facts(reading, owner)
            for (name, _), reading in zip(wanted, readings, strict=True)
            if reading is not None
        }


def rolling_since(status: ClusterStatus) -> datetime | None:
    """Read from the last status since when pods are being replaced; None when they are not."""
    for condition in status.conditions:
        if condition.type == "Reconciling" and condition.reason == ROLLING_OUT:
            return condition.last_transition_time
    return None


def secret_names(cluster: OpenBaoCluster) -> tuple[tuple[str, bool], ...]:
    """Name the Secrets that a cluster uses, and whether their content is looked at."""
    name = cluster.metadata.name
    supplied = cluster.spec.unseal.credentials_secret_ref
    wanted = [
        (names.tls_ca_secret(name), True),
        (names.tls_server_secret(name), True),
        (supplied.name if supplied else names.unseal_key_secret(name), False),
    ]
    if not cluster.spec.self_initializes:
        wanted.append((names.root_token_secret(name), False))
    return tuple(wanted)
