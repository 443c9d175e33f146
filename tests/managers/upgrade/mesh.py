"""A simulation of servers, their raft cluster and the Jobs that change it.

A failing Job does half of its work. The invariants are checked after each change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from contracts.jobs import upgrade_actions
from contracts.naming import revisions
from contracts.records.upgrade import JobState

SIZE = 3
NAME = "x"
TICK = timedelta(seconds=2)
JOB_LIFE = timedelta(hours=1)
FOR_EVER = 10**6


@dataclass
class Servers:
    """One StatefulSet with its pods and volumes."""

    uid: str
    replicas: int
    pods: dict[str, bool] = field(default_factory=dict)
    """Name, and whether it is ready."""
    ending: bool = False


@dataclass
class UpgradeJob:
    """A Job of the executor."""

    order: upgrade_actions.Order
    created_at: datetime
    state: JobState = "Active"
    foreign: bool = False


@dataclass
class HookJob:
    """The Job of a hook."""

    uid: str
    suspended: bool = True
    state: JobState = "Active"
    runs: int = 0


class Mesh:
    """A blue pool of three voters; the first one leads."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.uids = 0
        self.sets: dict[str, Servers] = {"": self.born("", SIZE)}
        for pod in self.sets[""].pods:
            self.sets[""].pods[pod] = True
        self.raft: dict[str, bool] = dict.fromkeys(self.sets[""].pods, True)
        self.leader: str | None = f"{NAME}-0"
        self.traffic = ""
        self.claims: dict[str, str] = {f"data-{pod}": f"claim-{pod}" for pod in self.raft}
        self.jobs: dict[str, UpgradeJob] = {}
        self.hooks: dict[str, HookJob] = {}
        self.ran: list[str] = []
        """UIDs of the Jobs of hooks that ran."""
        self.hook_says: JobState = "Succeeded"
        self.fails: dict[str, int] = {}
        """How often a Job with that action still fails."""
        self.pod_failures: dict[str, str] = {}
        """Revision, and why its pods cannot run."""
        self.unready: set[str] = set()
        self.follow: Callable[[], None] = self.check

    def uid(self) -> str:
        """A new UID."""
        self.uids += 1
        return f"uid-{self.uids}"

    def born(self, revision: str, replicas: int) -> Servers:
        """A pool whose pods are not ready yet."""
        pods = (revisions.server_pod(NAME, revision, number) for number in range(replicas))
        return Servers(self.uid(), replicas, dict.fromkeys(pods, False))

    @property
    def traffic_set(self) -> str:
        """The StatefulSet that serves clients."""
        return revisions.server_stateful_set(NAME, self.traffic)

    def tick(self) -> None:
        """Advance by two seconds: pods start and end, Jobs work."""
        self.now += TICK
        for revision, fact in tuple(self.sets.items()):
            if fact.ending and not fact.pods:
                del self.sets[revision]
            elif fact.ending:
                fact.pods = {}
            else:
                broken = revision in self.pod_failures
                fact.pods = {pod: not broken and pod not in self.unready for pod in fact.pods}
        for name, job in tuple(self.jobs.items()):
            if self.now - job.created_at > JOB_LIFE:
                del self.jobs[name]
            elif job.state == "Active":
                self._work(job)
        for judge in self.hooks.values():
            if not judge.suspended and judge.state == "Active":
                judge.runs += 1
                self.ran.append(judge.uid)
                judge.state = self.hook_says
        self.follow()

    def _work(self, job: UpgradeJob) -> None:
        action = job.order.action
        left = self.fails.get(action, 0)
        if left:
            self.fails[action] = left - 1
            self._do(job.order, half=True)
            job.state = "Failed"
            return
        self._do(job.order)
        job.state = "Succeeded"

    def _do(self, order: upgrade_actions.Order, *, half: bool = False) -> None:
        """Do the work of the Job; half of it, if it fails."""
        green = order.green[:1] if half else order.green
        blue = order.blue[:1] if half else order.blue
        if order.action == upgrade_actions.JOIN:
            for pod in green:
                self.raft.setdefault(pod, False)
        elif order.action == upgrade_actions.PROMOTE:
            self.raft.update((pod, True) for pod in green if pod in self.raft)
        elif order.action == upgrade_actions.DEMOTE:
            names = order.green[0].rpartition("-")[0]
            assert names == self.traffic_set, "blue is demoted while it serves clients"
            self.leader = order.green[0]
            self.raft.update(dict.fromkeys(blue, False))
        elif order.action in (upgrade_actions.REMOVE_BLUE, upgrade_actions.REMOVE_GREEN):
            for pod in blue if order.action == upgrade_actions.REMOVE_BLUE else green:
                self.raft.pop(pod, None)
        elif order.action == upgrade_actions.REPAIR:
            self.raft.update(dict.fromkeys(order.blue, True))
            self.leader = order.blue[0]
            self.raft.update((pod, False) for pod in green if pod in self.raft)

    def check(self) -> None:
        """Check that a majority of the voters runs, and that one of them leads."""
        ready = {pod for fact in self.sets.values() for pod, well in fact.pods.items() if well}
        voters = {pod for pod, votes in self.raft.items() if votes}
        alive = voters & ready
        assert len(alive) > len(voters) // 2, f"of voters {voters} only {alive} are there"
        assert self.leader in voters
        selected = self.sets.get(self.traffic)
        assert selected is not None, "the traffic goes to missing servers"
        assert any(selected.pods.values()), "the traffic goes to unready servers"
