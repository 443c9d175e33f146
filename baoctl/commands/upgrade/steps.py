"""What an upgrade would do step by step, and how long it takes: for `baoctl upgrade plan`.

How long is a rough guess. One function for each strategy. Pure: read off the cluster as it would
be after the edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenPhase
from contracts.api.cluster.upgrade import AutoRollback, BlueGreen
from contracts.api.meta import counted_duration
from contracts.pools.voter_pool import ServerPool, serving_set
from contracts.records.bluegreen import next_revision
from contracts.records.observed import Observed
from contracts.records.upgrade import Release
from managers.upgrade.login import jobs_can_log_in
from managers.workload.preview import replacements

Range = tuple[int, int]

# One server of a small cluster on the test rig comes back within the first; the second is what a
# large volume or a slow registry may need.
_ONE_SERVER: Final = (10, 60)
_SNAPSHOT: Final = (5, 120)
_NOTHING: Final = (0, 0)
# Servers of a second set start side by side; raft gives and takes votes every ten seconds.
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
    """What is done in which order; `seconds` that it takes at least, and in most cases at most."""

    told: tuple[str, ...]
    seconds: Range


def in_place(cluster: OpenBaoCluster, observed: Observed) -> Steps:
    """Tell of one server after the other, the leader last."""
    turns = replacements(observed, _done(cluster))
    first, last = (each * len(turns) for each in _ONE_SERVER)
    snapshot = _SNAPSHOT if _takes_snapshot(cluster) else _NOTHING
    told = tuple(_in_place(cluster, observed))
    return Steps(told, (first + snapshot[0], last + snapshot[1]))


def _in_place(cluster: OpenBaoCluster, observed: Observed) -> Iterator[str]:
    asked = Release.asked(cluster)
    yield "take the operation lock, so that no backup or restore begins meanwhile"
    if _takes_snapshot(cluster):
        yield "make an OpenBaoBackup, and go on once it is Completed; after three failures stop"
    yield f"render the servers with {asked}; no pod changes by that alone"
    job = jobs_can_log_in(cluster)
    for turn in replacements(observed, _done(cluster)):
        yield _turn(turn.pod, leads=turn.leads, votes=turn.votes, job=job)
    yield f"once all servers run {asked.version} and the leader finds them well: free the lock"


def _turn(pod: str, *, leads: bool, votes: bool, job: bool) -> str:
    if not votes:
        return f"replace {pod}, a read replica, and wait until it is ready"
    if not leads:
        return f"replace {pod}, and wait until it is ready and has caught up"
    asked = "a Job asks it to step down" if job else "it is asked to step down, or hands over"
    return f"{pod} leads now: {asked}; once another one leads, replace it"


def _done(cluster: OpenBaoCluster) -> tuple[int, ...]:
    upgrade = cluster.status.upgrade
    same = upgrade is not None and upgrade.target_version == Release.asked(cluster).version
    return upgrade.completed_pods if upgrade is not None and same else ()


def _takes_snapshot(cluster: OpenBaoCluster) -> bool:
    return cluster.spec.upgrade is not None and cluster.spec.upgrade.pre_upgrade_snapshot


# --- by a second set ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Second:
    """An upgrade by a second set: the one that goes on, or the one that would begin."""

    cluster: OpenBaoCluster
    blue: ServerPool
    green: ServerPool
    target: Release
    size: int

    @property
    def wish(self) -> BlueGreen:
        upgrade = self.cluster.spec.upgrade
        return (upgrade.blue_green if upgrade else None) or BlueGreen()

    @property
    def kept(self) -> int:
        return (self.wish.auto_rollback or AutoRollback()).stabilization_seconds

    @property
    def follows(self) -> str:
        return (self.wish.verification and self.wish.verification.min_sync_duration) or ""

    @property
    def hook_seconds(self) -> int:
        hook = self.wish.verification and self.wish.verification.pre_promotion_hook
        return hook.timeout_seconds if hook else 0

    @property
    def waits_for_approval(self) -> bool:
        frozen = self.cluster.status.blue_green
        if frozen is not None and frozen.green_revision:
            return bool(frozen.manual_promotion_required)
        return not self.wish.auto_promote

    @property
    def readers(self) -> int:
        wish = self.cluster.spec.read_replicas
        return wish.replicas if wish else 0

    @property
    def takes_snapshot(self) -> bool:
        return _takes_snapshot(self.cluster) or self.wish.pre_upgrade_snapshot


def by_second_set(cluster: OpenBaoCluster) -> Steps:
    """Tell of a second set of servers that takes over, from the phase on that it is in."""
    second, status = _second(cluster), cluster.status.blue_green
    phase: BlueGreenPhase = status.phase if status is not None else "Idle"
    ways = (_FORWARD, _BACK)
    way = next(one for one in ways if phase in one)
    left = list(way)[list(way).index(phase) :]
    told = tuple(text for one in left for text in way[one](second))
    ranges = [_seconds(second, one) for one in left]
    first, last = (sum(one[edge] for one in ranges) for edge in (0, 1))
    return Steps((*told, "free the operation lock"), (first, last))


def _second(cluster: OpenBaoCluster) -> _Second:
    name, status = cluster.metadata.name, cluster.status.blue_green
    asked, size, blue = Release.asked(cluster), cluster.spec.replicas, serving_set(cluster)
    if status is not None and status.green_revision:
        blue, green = (
            ServerPool(name, one or "") for one in (status.blue_revision, status.green_revision)
        )
        target = Release(status.green_version or asked.version, status.green_image or "")
        return _Second(cluster, blue, green, target, status.green_replicas or size)
    if status is not None and status.phase != "Idle":
        # Read replicas follow: green is all that is left, and called blue.
        return _Second(cluster, blue, blue, Release.accepted(cluster) or asked, size)
    return _Second(cluster, blue, ServerPool(name, next_revision(cluster)), asked, size)


def _seconds(second: _Second, phase: BlueGreenPhase) -> Range:
    first, last = _PHASES[phase]
    more = _NOTHING
    if phase == "Idle" and second.takes_snapshot:
        more = _SNAPSHOT
    elif phase == "Syncing":
        follows = counted_duration(second.follows) if second.follows else None
        least = int(follows.total_seconds()) if follows else 0
        more = (least, least + second.hook_seconds)
    elif phase == "DemotingBlue":
        more = (second.kept, second.kept)
    elif phase == "RestoringReadReplicas":
        more = (_ONE_SERVER[0] * second.readers, _ONE_SERVER[1] * second.readers)
    return first + more[0], last + more[1]


def _begin(second: _Second) -> Iterator[str]:
    yield "take the operation lock, so that no backup or restore begins meanwhile"
    if second.takes_snapshot:
        yield "make an OpenBaoBackup, and go on once it is Completed; after three failures stop"


def _deploy(second: _Second) -> Iterator[str]:
    volumes = second.cluster.spec.storage.size
    yield (
        f"make {second.size} servers {second.green.stateful_set} of {second.target} with new "
        f"volumes ({volumes} each) beside the present ones, and wait until all are ready"
    )


def _join(second: _Second) -> Iterator[str]:
    yield "a Job lets them join the raft cluster without a vote"


def _sync(second: _Second) -> Iterator[str]:
    if second.follows:
        yield f"let them follow for {second.follows} (minSyncDuration)"
    yield "a Job waits until they have caught up"
    if second.hook_seconds:
        yield f"the pre-promotion hook judges them, for {second.hook_seconds} s at most"
    if second.waits_for_approval:
        yield "wait for a new spec.upgrade.requests.promote (autoPromote is false)"


def _promote(second: _Second) -> Iterator[str]:
    yield "a Job gives them their votes"


def _demote(second: _Second) -> Iterator[str]:
    yield "send the clients of the public Service to them"
    yield (
        f"a Job takes the votes of {second.blue.stateful_set}, and lets its leader step down; one "
        "of the new servers leads"
    )
    yield (
        f"keep the former servers for {second.kept} s (stabilizationSeconds): until here "
        "spec.upgrade.requests.rollback leads back"
    )
    yield f"accept {second.target}: there is no way back from here"


def _clean_up(second: _Second) -> Iterator[str]:
    policy = second.cluster.spec.deletion_policy
    volumes = "its volumes stay" if policy == "Retain" else "its volumes are deleted"
    yield (
        f"a Job takes {second.blue.stateful_set} out of the raft cluster; then its servers are "
        f"deleted, and {volumes} (deletionPolicy is {policy})"
    )


def _restore(second: _Second) -> Iterator[str]:
    if second.readers:
        yield f"replace the {second.readers} read replicas, one at a time"


def _roll_back(second: _Second) -> Iterator[str]:
    yield "send the clients of the public Service to the former servers"
    yield f"a Job gives {second.blue.stateful_set} its votes back, and one of it leads"


def _take_away(second: _Second) -> Iterator[str]:
    yield (
        f"a Job takes {second.green.stateful_set} out of the raft cluster; then its servers and "
        "its volumes are deleted"
    )


_Telling = Mapping[BlueGreenPhase, Callable[[_Second], Iterator[str]]]
_FORWARD: Final[_Telling] = {
    "Idle": _begin,
    "DeployingGreen": _deploy,
    "JoiningMesh": _join,
    "Syncing": _sync,
    "Promoting": _promote,
    "DemotingBlue": _demote,
    "Cleanup": _clean_up,
    "RestoringReadReplicas": _restore,
}
_BACK: Final[_Telling] = {"RollingBack": _roll_back, "RollbackCleanup": _take_away}
