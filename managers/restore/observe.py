"""Reads the facts about a restore: from caches, and from the API server if no cache has them.

Reads only what the current state of the restore needs. Raises what runtime.client.client raises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from contracts.api.cluster.reading import read_cluster
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND, CLUSTERS
from contracts.api.restore import ENDED, OpenBaoRestore
from contracts.api.violation import InvalidClusterError
from contracts.conditions.reasons_restore import RESTORE_REASONS
from contracts.jobs.template import JobOverrides, JobTemplate, JobTemplateSource
from contracts.naming import labels
from contracts.pause import resumed_at
from contracts.records.upgrade import upgrade_unfinished
from managers.jobs.client import Jobs
from managers.restore.guards import target_paused
from managers.restore.inputs import (
    Disposition,
    RestoreFacts,
    RestoreFailure,
    RestoreTarget,
    SnapshotSource,
)
from managers.restore.server_recovery import (
    RestoredServersReader,
    evaluate_replication,
    evaluate_servers,
)
from managers.restore.source import backup_of, backup_source, inline_source, spec_failure
from managers.restore.state_machine import REPLACED
from runtime.apply.ownership import Owner
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.outcome import Blocked, Wait
from runtime.types import Object, ObjectKey, annotations_of, is_terminating, key_of, uid_of

ANSWERS: Final[dict[str, Disposition]] = {"Resume": "Resume", "Abandon": "Abandon"}


@dataclass(frozen=True, slots=True)
class RestoreObservation:
    """The facts, and the objects that the actions need."""

    live: Object
    facts: RestoreFacts
    cluster: OpenBaoCluster | None = None
    job_template: JobTemplate | None = None


@dataclass(frozen=True, slots=True)
class RestoreObserver:
    """Reads everything that a restore depends on."""

    client: Client
    clusters: Cache
    backups: Cache
    jobs: Jobs
    template_source: JobTemplateSource
    servers: RestoredServersReader
    clock: Clock

    async def observe(self, live: Object, restore: OpenBaoRestore) -> RestoreObservation:
        """Read the facts of a restore with a valid spec."""
        key = key_of(live)
        live_cluster = await self._cluster(ObjectKey(key.namespace, restore.spec.cluster))
        cluster = None if live_cluster is None else _read(live_cluster)
        facts = RestoreFacts(
            name=key.name,
            uid=uid_of(live),
            spec=restore.spec,
            status=restore.status,
            now=self.clock.now(),
            source=self._source(key, restore, cluster),
            target=None
            if live_cluster is None
            else target_of(live_cluster, cluster, self.clock.now()),
            **answer_of(live),
        )
        paused = target_paused(facts) is not None and not is_terminating(live)
        if restore.status.phase in ENDED or paused:
            return RestoreObservation(live, facts, cluster)
        facts = await self._with_job(key, facts)
        if facts.target is None or cluster is None:
            return RestoreObservation(live, facts, cluster)
        facts, template = await self._with_job_template(cluster, facts)
        return RestoreObservation(
            live, await self._with_recovery(cluster, facts), cluster, template
        )

    async def _cluster(self, key: ObjectKey) -> Object | None:
        cached = self.clusters.get(key)
        if cached is not None:
            return cached
        # A new cluster may not be in the cache yet; without this read the restore would fail.
        try:
            return await self.client.get(CLUSTERS, key)
        except NotFound:
            return None

    def _source(
        self, key: ObjectKey, restore: OpenBaoRestore, cluster: OpenBaoCluster | None
    ) -> SnapshotSource | RestoreFailure:
        source = spec_failure(restore, cluster) or inline_source(restore)
        if source is not None:
            return source
        name = restore.spec.source.backup or ""
        backup = backup_of(restore, self.backups.get(ObjectKey(key.namespace, name)))
        if isinstance(backup, RestoreFailure):
            return backup
        origin = self.clusters.get(ObjectKey(key.namespace, backup.spec.cluster))
        return backup_source(restore, backup, None if origin is None else _read(origin))

    async def _with_job(self, key: ObjectKey, facts: RestoreFacts) -> RestoreFacts:
        execution = facts.execution
        if execution is None or execution.stage not in ("Committed", "Created"):
            return facts
        job_key = ObjectKey(key.namespace, execution.job_name)
        job = await self.jobs.get(job_key, execution.job_uid, facts.uid)
        return replace(facts, job=job, job_queried=True)

    async def _with_job_template(
        self, cluster: OpenBaoCluster, facts: RestoreFacts
    ) -> tuple[RestoreFacts, JobTemplate | None]:
        """Get the job template. Only with the lock: the account of the job depends on it."""
        execution, target = facts.execution, facts.target
        needed = execution is None or (execution.stage == "Committed" and facts.job is None)
        if not needed or not facts.has_lock or target is None:
            return facts, None
        spec = facts.spec
        overrides = JobOverrides(
            image=spec.image or "",
            role=spec.jwt_auth_role or "",
            token_secret=spec.token_secret_ref.name if spec.token_secret_ref else "",
        )
        template = await self.template_source.of(cluster, "restore", overrides)
        if isinstance(template, JobTemplate):
            return facts, template
        return replace(facts, target=with_obstacle(target, template)), None

    async def _with_recovery(self, cluster: OpenBaoCluster, facts: RestoreFacts) -> RestoreFacts:
        execution = facts.execution
        if execution is None or execution.stage not in REPLACED or not facts.same_target:
            return facts
        if execution.terminal_result == "Failed":
            return facts
        if not facts.marked:
            copies = await self.servers.copies(cluster, owner_of(cluster))
            return replace(facts, recovery=evaluate_replication(copies))
        servers = await self.servers.servers(cluster, owner_of(cluster), facts.uid)
        fresh = facts.spec.cluster_template is not None
        return replace(facts, recovery=evaluate_servers(servers, fresh=fresh))


def owner_of(cluster: OpenBaoCluster) -> Owner:
    """Return the cluster as owner."""
    at = cluster.metadata
    return Owner(API_VERSION, CLUSTER_KIND, at.namespace, at.name, at.uid)


def target_of(live: Object, cluster: OpenBaoCluster | None, now: datetime) -> RestoreTarget:
    """Read a cluster. For a cluster with an invalid spec no Job is created."""
    uid, origin = uid_of(live), annotations_of(live).get(labels.RESTORE_ORIGIN, "")
    if cluster is None:
        name = key_of(live).name
        message = f"spec.cluster: the spec of OpenBaoCluster {name} cannot be read"
        return RestoreTarget(
            uid, origin, is_terminating(live), failure=RestoreFailure("InvalidSpec", message)
        )
    status = cluster.status
    return RestoreTarget(
        uid=uid,
        origin=origin,
        terminating=is_terminating(live),
        paused=cluster.spec.paused,
        hibernated=cluster.spec.hibernate,
        resumed=resumed_at(cluster, now),
        initialized=bool(status.initialized),
        available=any(
            condition.type == "Available" and condition.status == "True"
            for condition in status.conditions
        ),
        upgrading=upgrade_unfinished(status),
        lock=status.operation_lock,
        restored=status.restore,
    )


def with_obstacle(target: RestoreTarget, outcome: Wait | Blocked) -> RestoreTarget:
    """Return the target with the outcome that prevents its Job, as a reason of a restore."""
    permanent = isinstance(outcome, Blocked)
    fallback = "JobPrerequisiteInvalid" if permanent else "JobPrerequisiteMissing"
    reason = outcome.reason if outcome.reason in RESTORE_REASONS else fallback
    failure = RestoreFailure(reason, outcome.message)
    return replace(target, failure=failure) if permanent else replace(target, obstacle=failure)


def answer_of(live: Object) -> dict[str, Any]:
    """Return the decision of a user from the annotation: `<operationID>/Resume` or `/Abandon`.

    An annotation for another operation is returned as `foreign_answer`.
    """
    text = annotations_of(live).get(labels.RESTORE_ACKNOWLEDGE, "")
    operation_id, _, disposition = text.partition("/")
    if operation_id == uid_of(live) and disposition in ANSWERS:
        return {"answer": ANSWERS[disposition]}
    return {"foreign_answer": text}


def _read(live: Object) -> OpenBaoCluster | None:
    try:
        return read_cluster(live)
    except InvalidClusterError:
        return None
