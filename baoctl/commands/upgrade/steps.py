"""The steps of an upgrade and an estimate of their duration, for `baoctl upgrade plan`.

Pure. One function for each strategy; its argument is the cluster as it would be after the edit.
Called by baoctl.commands.upgrade.plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenPhase, BlueGreenStatus
from contracts.api.cluster.upgrade import AutoRollback, BlueGreen
from contracts.api.values.duration import counted_duration
from contracts.pools.voter_pool import ServerPool, serving_pool
from contracts.records.bluegreen import next_revision
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from managers.upgrade.login import jobs_can_log_in
from managers.upgrade.version_matrix import succession
from managers.workload.preview import replacements

Range = tuple[int, int]

# Seconds until one server is ready again: as measured in a small cluster, and with a large volume
# or a slow registry.
_ONE_SERVER: Final = (10, 60)
_SNAPSHOT: Final = (5, 120)
_NOTHING: Final = (0, 0)
# The green servers start in parallel. The autopilot of OpenBao promotes and demotes voters every
# ten seconds.
_PHASES: Final[Mapping[BlueGreenPhase, Range]] = {
    "Idle": _NOTHING,
    "DeployingGreen": (15, 120),
    "JoiningMesh": (5, 60),
    "Syncing": (5, 300),
    "Promoting": (10, 60),
    "DemotingBlue": (15, 90),
    "Cleanup": (10, 60),
    "RestoringReadReplicas": _NOTHING,
    "RollingBack": (20, 120),
    "RollbackCleanup": (10, 60),
}


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps in their order; `seconds`: the minimum duration and the usual maximum."""

    lines: tuple[str, ...]
    seconds: Range


def in_place(cluster: OpenBaoCluster, observed: Observed) -> Steps:
    """Return the steps of a rolling upgrade: one server at a time, the leader last."""
    pods = replacements(observed, _completed_pods(cluster))
    minimum, maximum = (each * len(pods) for each in _ONE_SERVER)
    snapshot = _SNAPSHOT if _takes_snapshot(cluster) else _NOTHING
    lines = tuple(_in_place(cluster, observed))
    return Steps(lines, (minimum + snapshot[0], maximum + snapshot[1]))


def _in_place(cluster: OpenBaoCluster, observed: Observed) -> Iterator[str]:
    release = Release.requested(cluster)
    yield "acquire the operation lock, so that no backup or restore starts"
    if _takes_snapshot(cluster):
        yield "create an OpenBaoBackup, and wait until it is Completed; stop after three failures"
    yield f"change the pod template to {release}; no pod restarts yet"
    job = jobs_can_log_in(cluster)
    for replacement in replacements(observed, _completed_pods(cluster)):
        yield _replacement_text(
            replacement.pod, leads=replacement.leads, votes=replacement.votes, job=job
        )
    ready = f"all servers run {release.version} and the leader reports them healthy"
    yield f"once {ready}: release the operation lock"


def _replacement_text(pod: str, *, leads: bool, votes: bool, job: bool) -> str:
    if not votes:
        return f"replace {pod}, a read replica, and wait until it is ready"
    if not leads:
        return f"replace {pod}, and wait until it is ready and has caught up"
    if not job:
        return (
            f"replace {pod}, the leader, after the operator has asked it to step down; if that is "
            "not possible, it gives up leadership when it shuts down"
        )
    return f"{pod} is the leader: a Job asks it to step down; replace it once another server leads"


def _completed_pods(cluster: OpenBaoCluster) -> tuple[int, ...]:
    upgrade = cluster.status.upgrade
    same = upgrade is not None and upgrade.target_version == Release.requested(cluster).version
    return upgrade.completed_pods if upgrade is not None and same else ()


def _takes_snapshot(cluster: OpenBaoCluster) -> bool:
    return cluster.spec.upgrade is not None and cluster.spec.upgrade.pre_upgrade_snapshot


# --- blue/green ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _BlueGreenUpgrade:
    """The blue/green upgrade that is in progress, or that would begin."""

    cluster: OpenBaoCluster
    blue: ServerPool
    green: ServerPool
    target: Release
    size: int

    @property
    def settings(self) -> BlueGreen:
        upgrade = self.cluster.spec.upgrade
        return (upgrade.blue_green if upgrade else None) or BlueGreen()

    @property
    def can_roll_back(self) -> bool:
        """Return whether a rollback is possible once green leads."""
        accepted = Release.accepted(self.cluster) or Release.running(self.cluster)
        verdict = succession(accepted.version, self.target.version)
        return verdict.grade != "impossible"

    @property
    def retention_seconds(self) -> int:
        return (self.settings.auto_rollback or AutoRollback()).stabilization_seconds

    @property
    def min_sync_duration(self) -> str:
        return (self.settings.verification and self.settings.verification.min_sync_duration) or ""

    @property
    def hook_seconds(self) -> int:
        hook = self.settings.verification and self.settings.verification.pre_promotion_hook
        return hook.timeout_seconds if hook else 0

    @property
    def current_status(self) -> BlueGreenStatus | None:
        """The status of the upgrade in progress, with the settings that applied when it began."""
        status = self.cluster.status.blue_green
        return status if status is not None and status.green_revision else None

    @property
    def waits_for_approval(self) -> bool:
        status = self.current_status
        return bool(status.manual_promotion_required) if status else not self.settings.auto_promote

    @property
    def waits_for_cleanup(self) -> bool:
        status = self.current_status
        return bool(status.manual_cleanup_required) if status else not self.settings.auto_cleanup

    @property
    def read_replicas(self) -> int:
        pool = self.cluster.spec.read_replicas
        return pool.replicas if pool else 0

    @property
    def takes_snapshot(self) -> bool:
        return _takes_snapshot(self.cluster) or self.settings.pre_upgrade_snapshot


def blue_green(cluster: OpenBaoCluster) -> Steps:
    """Return the steps of a blue/green upgrade, from its current phase on."""
    upgrade, status = _upgrade_of(cluster), cluster.status.blue_green
    phase: BlueGreenPhase = status.phase if status is not None else "Idle"
    paths = (_FORWARD, _BACK)
    path = next(candidate for candidate in paths if phase in candidate)
    remaining = list(path)[list(path).index(phase) :]
    lines = tuple(text for step in remaining for text in path[step](upgrade))
    ranges = [_seconds(upgrade, step) for step in remaining]
    minimum, maximum = (sum(span[edge] for span in ranges) for edge in (0, 1))
    return Steps((*lines, "release the operation lock"), (minimum, maximum))


def _upgrade_of(cluster: OpenBaoCluster) -> _BlueGreenUpgrade:
    name, status = cluster.metadata.name, cluster.status.blue_green
    requested, size, blue = Release.requested(cluster), cluster.spec.replicas, serving_pool(cluster)
    if status is not None and status.green_revision:
        blue, green = (
            ServerPool(name, revision or "")
            for revision in (status.blue_revision, status.green_revision)
        )
        target = Release(status.green_version or requested.version, status.green_image or "")
        return _BlueGreenUpgrade(cluster, blue, green, target, status.green_replicas or size)
    if status is not None and status.phase != "Idle":
        # Only the read replicas remain to be upgraded: the green pool has become the blue pool.
        return _BlueGreenUpgrade(cluster, blue, blue, Release.accepted(cluster) or requested, size)
    return _BlueGreenUpgrade(
        cluster, blue, ServerPool(name, next_revision(cluster)), requested, size
    )


def _seconds(upgrade: _BlueGreenUpgrade, phase: BlueGreenPhase) -> Range:
    first, last = _PHASES[phase]
    more = _NOTHING
    if phase == "Idle" and upgrade.takes_snapshot:
        more = _SNAPSHOT
    elif phase == "Syncing":
        text = upgrade.min_sync_duration
        duration = counted_duration(text) if text else None
        minimum = int(duration.total_seconds()) if duration else 0
        more = (minimum, minimum + upgrade.hook_seconds)
    elif phase == "DemotingBlue":
        more = (upgrade.retention_seconds, upgrade.retention_seconds)
    elif phase == "RestoringReadReplicas":
        more = (_ONE_SERVER[0] * upgrade.read_replicas, _ONE_SERVER[1] * upgrade.read_replicas)
    return first + more[0], last + more[1]


def _begin(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    yield "acquire the operation lock, so that no backup or restore starts"
    if upgrade.takes_snapshot:
        yield "create an OpenBaoBackup, and wait until it is Completed; stop after three failures"


def _deploy(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    volumes = upgrade.cluster.spec.storage.size
    yield (
        f"create {upgrade.size} servers {upgrade.green.stateful_set} of {upgrade.target} with new "
        f"volumes ({volumes} each) in addition to the current ones, and wait until all are ready"
    )


def _join(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    yield "a Job joins them to the raft cluster without a vote"


def _sync(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    if upgrade.min_sync_duration:
        yield f"let them replicate for {upgrade.min_sync_duration} (minSyncDuration)"
    yield "a Job waits until they have caught up"
    if upgrade.hook_seconds:
        yield f"the pre-promotion hook verifies them, for {upgrade.hook_seconds} s at most"
    if upgrade.waits_for_approval:
        yield "wait for a new spec.upgrade.requests.promote (autoPromote is false)"


def _promote(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    yield "a Job promotes them to voters"


def _demote(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    yield "switch the public Service to them"
    yield (
        f"a Job demotes the voters of {upgrade.blue.stateful_set} and makes their leader step "
        "down; one of the new servers becomes the leader"
    )
    keep = f"keep the former servers for {upgrade.retention_seconds} s (stabilizationSeconds)"
    if upgrade.can_roll_back:
        yield f"{keep}; until then spec.upgrade.requests.rollback rolls the upgrade back"
    else:
        yield f"{keep}; a rollback is possible only until one of the new servers leads"
    if upgrade.waits_for_cleanup:
        yield "keep them until a new spec.upgrade.requests.cleanup (autoCleanup is false)"
    yield f"accept {upgrade.target}; from then on the upgrade cannot be rolled back"


def _clean_up(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    policy = upgrade.cluster.spec.deletion_policy
    volumes = "its volumes stay" if policy == "Retain" else "its volumes are deleted"
    yield (
        f"a Job removes {upgrade.blue.stateful_set} from the raft cluster; then its servers are "
        f"deleted, and {volumes} (deletionPolicy is {policy})"
    )


def _restore(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    if upgrade.read_replicas:
        yield f"replace the {upgrade.read_replicas} read replicas, one at a time"


def _roll_back(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    yield "switch the public Service back to the former servers"
    blue = upgrade.blue.stateful_set
    yield f"a Job promotes the servers of {blue} to voters again; one of them becomes the leader"


def _remove_green(upgrade: _BlueGreenUpgrade) -> Iterator[str]:
    yield (
        f"a Job removes {upgrade.green.stateful_set} from the raft cluster; then its servers and "
        "its volumes are deleted"
    )


_PhaseTexts = Mapping[BlueGreenPhase, Callable[[_BlueGreenUpgrade], Iterator[str]]]
_FORWARD: Final[_PhaseTexts] = {
    "Idle": _begin,
    "DeployingGreen": _deploy,
    "JoiningMesh": _join,
    "Syncing": _sync,
    "Promoting": _promote,
    "DemotingBlue": _demote,
    "Cleanup": _clean_up,
    "RestoringReadReplicas": _restore,
}
_BACK: Final[_PhaseTexts] = {"RollingBack": _roll_back, "RollbackCleanup": _remove_green}
