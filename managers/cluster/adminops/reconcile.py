"""The adminops reconciler: operations inside OpenBao, after the initialization.

It writes only `status.adminOps`: raft membership, autopilot, recovery shares, the operator login
and the rewrap of the seal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import AdminOpsStatus, AutopilotStatus
from contracts.api.violation import InvalidClusterError
from contracts.pools.voter_pool import serving_pool, voter_pools
from contracts.records.observed import ServerClientConfig
from managers.autopilot.actions import AutopilotSession, apply_settings
from managers.autopilot.decide import (
    SET_AUTOPILOT,
    autopilot_status,
    desired_settings,
    is_refused_recently,
    refusal,
)
from managers.bao.login import Logins
from managers.bootstrap.seal.rewrap import RECHECK, SealSession, rewrap
from managers.cluster.adminops.check_schedule import CheckSchedule
from managers.cluster.adminops.keys import KeyTasks
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.observe.from_objects import server_facts
from managers.cluster.observe.observer import CLUSTER_INDEX, ClusterObserver
from managers.cluster.owner import owner_of
from managers.context.context import Context
from managers.membership.decide import (
    QUIET_RECHECK,
    ExpectedMembers,
    as_object,
    evaluate_members,
)
from managers.membership.find_leader import known_leader
from managers.membership.green_members import green_member_count
from managers.membership.observe import ask
from managers.recovery_keys.decide import needs_shares
from managers.upgrade.effective_spec import with_accepted_release
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD
from runtime.cache.cache import Cache
from runtime.outcome import Done, Outcome, Wait, combine
from runtime.types import Request, Resource, is_terminating


class AdminOpsReconciler:
    """Reads the servers of one cluster and reports their state."""

    def __init__(
        self,
        clusters: Cache,
        informers: Mapping[Resource, Cache],
        observer: ClusterObserver,
        statuses: StatusWriter,
        context: Context,
        logins: Logins,
    ) -> None:
        self._clusters = clusters
        self._pods = informers[POD]
        self._observer = observer
        self._statuses = statuses
        self._context = context
        self._logins = logins
        self._keys = KeyTasks(context, observer, logins)
        self._schedule = CheckSchedule()

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile once. Raises transient errors, which the controller retries with backoff."""
        self._schedule.forget(request)
        live = self._clusters.get(request)
        if live is None:
            self._logins.forget(request)
            return Done()
        if is_terminating(live):
            return Done()
        try:
            cluster = read_cluster(live)
        except InvalidClusterError:
            # The workload reconciler reports it.
            return Done()
        hibernates = with_accepted_release(cluster).spec.hibernate
        if cluster.spec.paused or hibernates or not cluster.status.initialized:
            # Hibernated servers do not answer: the last status is kept.
            return Done()
        owner = owner_of(live)
        client_config = await self._observer.client_config(cluster, owner)
        if client_config is None:
            # Secrets are not watched: only a timer detects the CA.
            recheck = self._observer.installation.secret_recheck
            return Wait("TLSSecretMissing", "the CA of the servers is not known yet", recheck)
        status, outcome = await self._check_servers(cluster, owner, client_config)
        await self._statuses.write_adminops(live, status)
        if outcome == Done(QUIET_RECHECK) and _is_settled(cluster, status):
            return Done(self._schedule.next(request))
        return outcome

    async def _check_servers(
        self, cluster: OpenBaoCluster, owner: Owner, client_config: ServerClientConfig
    ) -> tuple[dict[str, object], Outcome]:
        pods = self._pods.by_index(CLUSTER_INDEX, str(owner.key))
        labeled = server_facts(voter_pools(cluster), pods)
        readers = cluster.spec.servers - cluster.spec.replicas
        async with self._logins.session(client_config.authority, client_config.server_name) as bao:
            servers = await known_leader(bao, labeled)
            login = self._logins.for_cluster(cluster, owner)
            # First, because it may set up the login that all others use.
            keys = await self._keys.run(bao, servers, login, cluster, owner)
            answers = await ask(bao, servers, login, health=bool(readers))
            if login is not None and answers.members is None:
                # The refused token has been dropped. The login may be refused as well: check it.
                keys = await self._keys.run(bao, servers, login, _with_keys(cluster, keys), owner)
            session = AutopilotSession(bao, servers, login)
            voters = sum(member.voter for member in answers.members or ())
            settings = desired_settings(cluster.spec, voters=voters)
            autopilot = await self._autopilot(cluster, owner, session, settings)
            unfinished = await rewrap(
                self._context, cluster, owner, SealSession(bao, servers, login)
            )
            answers = replace(answers, unusable=bao.unusable)
        now = self._context.clock.now()
        expected = ExpectedMembers(
            owner.name,
            with_accepted_release(cluster).spec.replicas,
            readers,
            serving_pool(cluster).revision,
            green_member_count(cluster),
        )
        status, outcome = evaluate_members(answers, expected, cluster.status.admin_ops, now)
        if unfinished:
            outcome = combine(outcome, Done(RECHECK))
        return as_object(status.model_copy(update={"autopilot": autopilot, **keys})), outcome

    async def _autopilot(
        self,
        cluster: OpenBaoCluster,
        owner: Owner,
        session: AutopilotSession,
        settings: Mapping[str, Any],
    ) -> AutopilotStatus | None:
        """Apply the autopilot settings; settings that were just refused are not retried."""
        previous = cluster.status.admin_ops.autopilot if cluster.status.admin_ops else None
        now = self._context.clock.now()
        attempt = self._context.attempts.last(SET_AUTOPILOT, owner.uid)
        if is_refused_recently(attempt, settings, now):
            return previous
        decision = await apply_settings(session, settings)
        if decision is None:
            return previous
        if decision.refused:
            self._context.attempts.note(refusal(owner.uid, settings, now))
        return autopilot_status(decision)


def _is_settled(cluster: OpenBaoCluster, status: Mapping[str, object]) -> bool:
    """Whether the last two checks had the same result, without an error or a pending key task."""
    previous = cluster.status.admin_ops
    return (
        previous is not None
        and previous.last_error is None
        and as_object(previous) == status
        and not needs_shares(cluster.spec, previous.recovery_keys)
    )


def _with_keys(cluster: OpenBaoCluster, keys: Mapping[str, Any]) -> OpenBaoCluster:
    """Return the cluster as if these parts of status.adminOps were already written."""
    admin_ops = (cluster.status.admin_ops or AdminOpsStatus()).model_copy(update=keys)
    status = cluster.status.model_copy(update={"admin_ops": admin_ops})
    return cluster.model_copy(update={"status": status})
