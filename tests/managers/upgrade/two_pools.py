"""A simulated cluster that is upgraded blue/green, and its operator.

The operator has no memory: each reconcile reads only the status and the world. It may crash before
or after any of its writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.jobs import upgrade_actions
from contracts.naming import revisions
from contracts.records import bluegreen
from contracts.records.bluegreen import (
    BlueGreenFacts,
    Color,
    Membership,
    PoolObservation,
    PvcObservation,
)
from contracts.records.effects import Effect
from contracts.records.resolved import PoolSpec
from contracts.records.upgrade import HookObservation, JobStatus, Release, SnapshotObservation
from contracts.records.upgrade_decision import UpgradeDecision
from contracts.records.upgrade_effects import (
    AcquireLock,
    DeleteServerClaim,
    DeleteStatefulSet,
    DropHook,
    FreeLock,
    MakeHook,
    MakeJob,
    MakeSnapshot,
    StartHook,
)
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.bluegreen import validation_hook
from managers.upgrade.bluegreen.decide import decide_step
from tests import gen
from tests.managers.upgrade.mesh import FOR_EVER, NAME, SIZE, TICK, HookJob, Mesh, UpgradeJob

__all__ = [
    "BLUE",
    "FOR_EVER",
    "NEW",
    "OLD",
    "SIZE",
    "TICK",
    "WHOLE",
    "CrashedError",
    "TwoPools",
    "as_before",
]

OLD = "2.4.0"
NEW = "2.4.1"
WHOLE = [
    "Idle", "DeployingGreen", "JoiningMesh", "Syncing", "Promoting", "DemotingBlue", "Cleanup",
    "Idle",
]  # fmt: skip
"""The phases of an upgrade that nothing disturbs."""


class CrashedError(Exception):
    """The operator has crashed."""


class TwoPools(Mesh):
    """A cluster that is upgraded blue/green."""

    def __init__(self, crash_at: int = 0, *, after: bool = False, **spec: Any) -> None:
        super().__init__()
        self.spec: dict[str, Any] = {
            "version": NEW,
            "replicas": SIZE,
            "storage": {"size": "1Gi"},
            "deletionPolicy": "DeletePVCs",
            **spec,
        }
        self.spec["upgrade"] = {"strategy": "BlueGreen", **spec.get("upgrade", {})}
        self.status: dict[str, Any] = {
            "initialized": True,
            "currentVersion": OLD,
            "release": {"version": OLD},
        }
        self.generation = 1
        self.crash_at, self.after, self.writes = crash_at, after, 0
        self.one_write_per_life = False
        self.created_jobs: list[tuple[str, upgrade_actions.Order]] = []
        self.backups: dict[str, str] = {}
        self.backup_ends = "Completed"
        self.read_replicas_upgraded = True
        self.leaderless = False
        """An election goes on: nobody can be asked for the members."""
        self.flips: list[str] = []
        self.phases: list[str] = ["Idle"]
        self.event_reasons: list[str] = []
        self.decision: UpgradeDecision | None = None
        self._read: tuple[bytes, OpenBaoCluster] | None = None

    # --- what is there --------------------------------------------------------------------------

    def read(self) -> OpenBaoCluster:
        """The CR as the operator reads it."""
        # A reconcile reads it several times, and most change nothing.
        state = orjson.dumps((self.spec, self.status, self.generation))
        if self._read is None or self._read[0] != state:
            metadata = {"generation": self.generation}
            self._read = state, gen.Cluster(NAME, self.spec, self.status, metadata).read()
        return self._read[1]

    @property
    def known(self) -> BlueGreenStatus:
        """status.blueGreen."""
        return self.read().status.blue_green or BlueGreenStatus()

    @property
    def revision(self) -> str:
        """The revision of green, or of the next green pool."""
        green_revision = self.known.green_revision
        return green_revision or bluegreen.revision_of(
            Release.requested(self.read()), self.spec["replicas"]
        )

    @property
    def release(self) -> str:
        """Version of the release that was accepted last."""
        version: str = self.status["release"]["version"]
        return version

    def edit(self, **fields: Any) -> None:
        """Change the spec as its user does."""
        self.spec = {**self.spec, **fields}
        self.generation += 1

    def order(self, **tokens: str) -> None:
        """Change spec.upgrade.requests."""
        upgrade = self.spec["upgrade"]
        requests = {**upgrade.get("requests", {}), **tokens}
        self.edit(upgrade={**upgrade, "requests": requests})

    def set_blue_green(self, **fields: Any) -> None:
        """Change spec.upgrade.blueGreen."""
        upgrade = self.spec["upgrade"]
        self.edit(upgrade={**upgrade, "blueGreen": {**upgrade.get("blueGreen", {}), **fields}})

    # --- observe --------------------------------------------------------------------------------

    def facts(self) -> BlueGreenFacts:
        """The facts of a reconcile."""
        cluster = self.read()
        facts = BlueGreenFacts(
            cluster=cluster,
            now=self.now,
            accepted=Release(self.release, self.status["release"].get("image", "")),
            blue=self.observe_pool(self.known.blue_revision or ""),
            green=self.observe_pool(self.revision),
            membership=self.membership(),
            traffic=self.traffic,
            read_replicas_upgraded=self.read_replicas_upgraded,
            nonce=f"{self.writes:032x}",
        )
        job = self.jobs.get(facts.job_name)
        others = [n for n, j in self.jobs.items() if j.state == "Active" and n != facts.job_name]
        return replace(
            facts,
            job=None if job is None else JobStatus(facts.job_name, job.state, job.foreign),
            former_job=next(iter(others), ""),
            hook=self._judge(validation_hook.job_name(facts)),
            snapshot=self._snapshot(),
        )

    def observe_pool(self, revision: str) -> PoolObservation:
        """One pool as a reconcile observes it."""
        fact = self.sets.get(revision)
        prefix = f"data-{revisions.server_stateful_set(NAME, revision)}-"
        claims = tuple(
            PvcObservation(name, uid)
            for name, uid in sorted(self.claims.items())
            if name.startswith(prefix) and "-" not in name.removeprefix(prefix)
        )
        if fact is None:
            return PoolObservation(claims=claims)
        return PoolObservation(
            uid="" if fact.ending else fact.uid,
            replicas=fact.replicas,
            pods=len(fact.pods),
            ready=sum(fact.pods.values()) if not fact.ending else 0,
            failure=self.pod_failures.get(revision, ""),
            claims=claims,
        )

    def membership(self) -> Membership | None:
        """The raft configuration; None while nobody leads."""
        if self.leader is None or self.leaderless:
            return None
        blue, green = self._members(self.known.blue_revision or ""), self._members(self.revision)
        leads: Color | None = None
        if self.leader in blue:
            leads = "blue"
        elif self.leader in green:
            leads = "green"
        return Membership(
            leads,
            sum(self.raft[pod_name] for pod_name in blue),
            len(blue),
            sum(self.raft[pod_name] for pod_name in green),
            len(green),
        )

    def _members(self, revision: str) -> list[str]:
        names = {revisions.server_pod(NAME, revision, number) for number in range(16)}
        return sorted(names & self.raft.keys())

    def _judge(self, name: str) -> HookObservation | None:
        hook = self.hooks.get(name)
        return None if hook is None else HookObservation(hook.uid, hook.state, hook.suspended)

    def _snapshot(self) -> SnapshotObservation | None:
        name = self.known.pre_upgrade_snapshot_job_name or ""
        return SnapshotObservation(name, self.backups[name]) if name in self.backups else None

    # --- the operator ---------------------------------------------------------------------------

    def write(self, change: Callable[[], None]) -> None:
        """One write: the operator may crash before or after it."""
        self.writes += 1
        hit = self.writes == self.crash_at
        if hit and not self.after:
            raise CrashedError
        # With one write per process, a write without a change does not count.
        before = self._stored() if self.one_write_per_life else ""
        change()
        self.follow()
        if hit or (self.one_write_per_life and self._stored() != before):
            raise CrashedError

    def _stored(self) -> str:
        parts = (self.status, self.sets, self.traffic, self.claims, self.jobs, self.hooks)
        return repr((*parts, self.backups))

    def run(self) -> UpgradeDecision:
        """One reconcile: decide, render, act, and write the status."""
        decision = self.decision = decide_step(self.facts())
        for pool in (decision.blue, decision.green):
            if pool is not None and pool.applied:
                self._apply(pool)
        if decision.traffic != self.traffic:
            self.write(lambda: self._flip(decision.traffic))
        for effect in decision.effects:
            self.write(lambda item=effect: self._act(item))  # type: ignore[misc]
        fresh = self._status(decision)
        if fresh != self.status:
            self.write(lambda: self._store(fresh))
        self.event_reasons += [event.reason for event in decision.events]
        return decision

    def _apply(self, spec: PoolSpec) -> None:
        fact = self.sets.get(spec.revision)
        if fact is None:
            self.write(lambda: self._make_set(spec))
        if fact is not None and self.known.operation_id:
            assert fact.replicas == spec.replicas, "a pool is resized during an upgrade"

    def _make_set(self, spec: PoolSpec) -> None:
        assert spec.revision, "the former pool must not be recreated"
        self.sets[spec.revision] = self.born(spec.revision, spec.replicas)
        for pod in self.sets[spec.revision].pods:
            assert f"data-{pod}" not in self.claims, "an old volume must not be reused"
            self.claims[f"data-{pod}"] = self.uid()

    def _flip(self, revision: str) -> None:
        self.traffic = revision
        self.flips.append(revision)

    def _status(self, decision: UpgradeDecision) -> dict[str, Any]:
        fresh = dict(self.status)
        parts = {
            "blueGreen": decision.blue_green,
            "breakGlass": decision.break_glass,
            "upgradeRequests": decision.requests,
            "release": decision.accepted.status() if decision.accepted else None,
        }
        for name, part in parts.items():
            if part is None:
                fresh.pop(name, None)
            else:
                fresh[name] = part.to_object()
        return fresh

    def _store(self, fresh: dict[str, Any]) -> None:
        self.status = fresh
        if self.known.phase != self.phases[-1]:
            self.phases.append(self.known.phase)

    def _act(self, effect: Effect) -> None:
        lock = self.status.get("operationLock")
        if isinstance(effect, AcquireLock):
            mine = {"operation": "Upgrade", "holder": UPGRADE_HOLDER}
            self.status = {**self.status, "operationLock": lock or mine}
        elif isinstance(effect, FreeLock):
            if lock and lock["holder"] == UPGRADE_HOLDER:
                self.status = {k: v for k, v in self.status.items() if k != "operationLock"}
        elif isinstance(effect, MakeSnapshot):
            self.backups.setdefault(effect.target, self.backup_ends)
        elif isinstance(effect, MakeJob):
            if effect.target not in self.jobs:
                assert not effect.order.problem()
                self.jobs[effect.target] = UpgradeJob(effect.order, self.now)
                self.created_jobs.append((effect.target, effect.order))
        elif isinstance(effect, DeleteStatefulSet):
            self._delete_stateful_set(effect)
        elif isinstance(effect, DeleteServerClaim):
            assert self.claims.pop(effect.target) == effect.uid
        else:
            self._act_on_hook(effect)

    def _act_on_hook(self, effect: Effect) -> None:
        if isinstance(effect, MakeHook):
            self.hooks.setdefault(effect.target, HookJob(self.uid()))
            return
        assert isinstance(effect, StartHook | DropHook)
        hook = self.hooks.get(effect.target)
        if hook is None or hook.uid != effect.uid:
            return
        if isinstance(effect, StartHook):
            hook.suspended = False
        else:
            del self.hooks[effect.target]

    def _delete_stateful_set(self, effect: DeleteStatefulSet) -> None:
        (revision,) = (
            r for r in self.sets if revisions.server_stateful_set(NAME, r) == effect.target
        )
        assert self.sets[revision].uid == effect.uid
        assert not any(self.raft.get(pod) for pod in self.sets[revision].pods), "voters deleted"
        assert revision != self.traffic, "the serving pool must not be deleted"
        self.sets[revision].ending = True

    # --- until ----------------------------------------------------------------------------------

    def drive(self, passes: int = 400, until: Callable[[], bool] | None = None) -> TwoPools:
        """Run reconciles, two seconds apart; a new operator replaces a crashed one."""
        for _ in range(passes):
            if until is not None and until():
                break
            try:
                self.run()
            except CrashedError:
                if not self.one_write_per_life:
                    continue
            self.tick()
        return self

    def to(self, phase: str) -> TwoPools:
        """Drive until a phase begins."""
        self.drive(until=lambda: self.known.phase == phase)
        assert self.known.phase == phase
        return self

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do."""
        return self.known.phase == "Idle" and self.release == self.spec["version"]

    def done(self) -> TwoPools:
        """Drive until green serves."""
        self.drive(until=lambda: self.settled and not self.lock)
        assert self.settled
        return self

    @property
    def lock(self) -> str:
        """The holder of the operation lock; "" for none."""
        operation_lock = self.status.get("operationLock")
        return operation_lock["holder"] if operation_lock else ""

    def actions(self) -> list[str]:
        """The actions of all created Jobs, in order."""
        return [order.action for _, order in self.created_jobs]


BLUE = {f"{NAME}-{number}": True for number in range(SIZE)}


def as_before(world: TwoPools) -> None:
    """Check that blue votes and serves, green is removed, and no release was accepted."""
    assert (world.raft, world.leader) == (BLUE, "x-0")
    assert set(world.sets) == {""}
    assert set(world.claims) == {f"data-{pod}" for pod in BLUE}
    assert (world.traffic, world.release, world.lock) == ("", OLD, "")
