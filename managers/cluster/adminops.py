"""The adminops reconciler: what the operator does inside of OpenBao, once data exists.

It owns `status.adminOps` and nothing else. For now it watches over the raft membership; upgrades
and backups will be its steps.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from contracts import names
from contracts.api.cluster import OpenBaoCluster
from contracts.api.violation import InvalidClusterError
from contracts.observed import SecretFacts
from managers.access.context import Context
from managers.bao.client import Bao
from managers.cluster.facts import pod_facts
from managers.cluster.observe import CLUSTER_INDEX, Observer
from managers.cluster.reconcile import owner_of, read_cluster
from managers.cluster.status_writer import StatusWriter
from managers.membership.plan import as_object, judge
from managers.membership.run import ServiceAccountLogin, StoredToken, TokenSource, ask
from runtime.errors import NotFound
from runtime.informer import Informer
from runtime.outcome import Done, Outcome, Wait
from runtime.ownership import Owner
from runtime.resources import POD, SECRET
from runtime.types import ObjectKey, Request, Resource, is_terminating


class AdminOpsReconciler:
    """Asks the servers of one cluster and reports what they say."""

    def __init__(
        self,
        clusters: Informer,
        informers: Mapping[Resource, Informer],
        observer: Observer,
        statuses: StatusWriter,
        context: Context,
        token_file: Path,
    ) -> None:
        self._clusters = clusters
        self._pods = informers[POD]
        self._observer = observer
        self._statuses = statuses
        self._context = context
        self._token_file = token_file
        self._logins: dict[str, ServiceAccountLogin] = {}

    async def __call__(self, request: Request) -> Outcome:
        """Look once. Raises transient errors, which the controller retries with backoff."""
        live = self._clusters.get(request)
        if live is None or is_terminating(live):
            return Done()
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            # The workload reconciler says so.
            return Done()
        if cluster.spec.paused or not cluster.status.initialized:
            return Done()
        owner = owner_of(live)
        server = await self._observer.server_secret(cluster, owner)
        if server is None or not server.authority:
            # Nobody watches Secrets: without a timer it would be found by accident only.
            recheck = self._observer.installation.secret_recheck
            return Wait("TLSSecretMissing", "the authority of the servers is not known", recheck)
        status, outcome = await self._look(cluster, owner, server)
        await self._statuses.write_adminops(live, status)
        return outcome

    async def _look(
        self, cluster: OpenBaoCluster, owner: Owner, server: SecretFacts
    ) -> tuple[dict[str, object], Outcome]:
        pods = pod_facts(owner.name, self._pods.by_index(CLUSTER_INDEX, str(owner.key)))
        async with Bao(server.authority, names.raft_server_name(owner.name)) as bao:
            answers = await ask(bao, pods, await self._login(cluster, owner))
        now = self._context.clock.now()
        status, outcome = judge(answers, cluster.spec.replicas, cluster.status.admin_ops, now)
        return as_object(status), outcome

    async def _login(self, cluster: OpenBaoCluster, owner: Owner) -> TokenSource | None:
        if cluster.spec.wants_operator_login:
            return self._logins.setdefault(
                owner.uid, ServiceAccountLogin(self._token_file, self._context.clock)
            )
        if cluster.spec.self_initializes:
            return None
        key = ObjectKey(owner.namespace, names.root_token_secret(owner.name))
        try:
            secret = await self._context.client.get(SECRET, key)
        except NotFound:
            return None
        return StoredToken(base64.b64decode((secret.get("data") or {}).get("token", "")).decode())
