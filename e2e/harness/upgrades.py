"""Upgrades a cluster, and records the watch events."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson

from contracts.api.group import API_VERSION, BACKUPS, CLUSTERS
from contracts.naming import names
from e2e.demo.api import connect
from e2e.demo.environment import RigEnvironment
from e2e.demo.journal import Journal, View
from e2e.demo.objects import Object, name_of, status_of, uid_of
from e2e.harness.audit import LEASES, AuditLog, Entry, tally, writes
from e2e.harness.clusters import Cluster
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.upgrade_history import BACKUPS as BACKUP_VIEW
from e2e.harness.upgrade_history import CLUSTERS as CLUSTER_VIEW
from e2e.harness.upgrade_history import JOBS, PODS, Figures, History, is_complete, is_server
from e2e.harness.waiting import ExpectationError, throughout, until
from managers.workload.rollout.next_pod import STEP_DOWN_SLEEP
from runtime.builtin_kinds import POD

UPGRADE_SECONDS = 360.0
_LEAD_SECONDS = 20.0
_MOVES = 5
# After that the former leader responds, and the next one reaches the restarted server.
_REST_SECONDS = 1.5 * STEP_DOWN_SLEEP.total_seconds()
_STILL = 2.0


@dataclass(slots=True)
class Record:
    """The watch events of one cluster during its context."""

    cluster: Cluster
    _journal: Journal
    _before: list[Object] = field(default_factory=list)

    @property
    def history(self) -> History:
        """The events so far."""
        return History(self.cluster.name, self._before, self._journal.entries())

    def catch_up(self) -> None:
        """Wait until the history has the current state of the objects."""
        assert self._journal.catch_up(_LEAD_SECONDS), "a watch has fallen behind"

    def await_finished(self, version: str, seconds: float = UPGRADE_SECONDS) -> float:
        """Wait until the cluster reports a version; return the seconds since the spec changed.

        That is when the API server first shows a spec with that version.
        """

        def is_requested(cluster: Object) -> bool:
            return self._is_it(cluster) and cluster["spec"]["version"] == version

        def over(cluster: Object) -> bool:
            return is_requested(cluster) and is_complete(cluster, version)

        try:
            ended = until(
                f"{self.cluster.name} is upgraded to {version}",
                lambda: self.history.first(CLUSTER_VIEW, over),
                seconds,
            )
        except ExpectationError as error:
            raise ExpectationError(f"{error}\n{self.describe()}") from None
        self.catch_up()
        began = self.history.first(CLUSTER_VIEW, is_requested)
        assert began is not None
        return ended - began

    def await_first_touch(self, seconds: float = 60.0) -> None:
        """Wait until the first server is terminating."""
        try:
            until(
                "the first server is terminating", lambda: self.history.first_touch(), seconds,
                every=0.02,
            )  # fmt: skip
        except ExpectationError as error:
            raise ExpectationError(f"{error}\n{self.describe()}") from None

    def alive(self, kind: str) -> list[Object]:
        """Return the existing objects of a kind by name, as of their last event."""
        return self._journal.alive(kind)

    def describe(self) -> str:
        """Return the status and the history of the pods, for the message of a failure."""
        status = status_of(self.cluster.find() or {})
        shown = {
            key: status.get(key) for key in ("release", "upgrade", "blueGreen", "operationLock")
        }
        lines = [f"  status: {orjson.dumps(shown).decode()}", self.cluster.describe()]
        lines += [f"  {life}" for life in self.history.lives()]
        lines += [f"  {job}" for job in self.history.step_downs()]
        return "\n".join(lines)

    def _is_it(self, live: Object) -> bool:
        return name_of(live) == self.cluster.name


@contextmanager
def record_events(cluster: Cluster, *more: str) -> Iterator[Record]:
    """Watch pods, Jobs, backups and the cluster until the end of the context.

    `more` has the ends of the paths of further views: "v1/services", "apps/v1/statefulsets".
    """
    environment = RigEnvironment(cluster.api.rig)
    home = f"namespaces/{cluster.namespace}"
    ours = f"/apis/{API_VERSION}/{home}"
    views = (
        View(CLUSTER_VIEW, f"{ours}/{CLUSTERS.plural}"),
        View(BACKUP_VIEW, f"{ours}/{BACKUPS.plural}"),
        View(PODS, f"/api/v1/{home}/pods"),
        View(JOBS, f"/apis/batch/v1/{home}/jobs"),
        *(_view(home, path) for path in more),
    )
    with connect(environment.kubectl) as api, Journal(api, views) as journal:
        servers = [pod for pod in journal.alive(PODS) if is_server(pod, cluster.name)]
        yield Record(cluster, journal, servers)


def _view(home: str, path: str) -> View:
    version, _, kind = path.rpartition("/")
    root = "/apis" if "/" in version else "/api"
    return View(kind, f"{root}/{version}/{home}/{kind}")


def change(cluster: Cluster, spec: Object) -> None:
    """Patch the spec with kubectl."""
    patch = orjson.dumps({"spec": spec}).decode()
    which = ("-n", cluster.namespace, "openbaocluster", cluster.name)
    cluster.api.rig.kubectl("patch", *which, "--type=merge", "-p", patch)


def restart(cluster: Cluster, pod: str) -> None:
    """Delete a pod, and wait until it is gone; the StatefulSet recreates it."""
    (uid,) = (uid_of(obj) for obj in cluster.pods() if name_of(obj) == pod)
    cluster.api.delete(POD, cluster.namespace, pod)
    until(f"{pod} is gone", lambda: uid not in map(uid_of, cluster.pods()), _LEAD_SECONDS)


def move_leadership(cluster: Cluster, ordinal: int) -> None:
    """Make the server with that ordinal the leader, of three.

    The next leader cannot be chosen, so the third server is restarted first: a server that is down
    is not elected. Returns when all are ready, and the former leader can stop without delay again:
    before that, it would take ten seconds.
    """
    stepped_down = 0.0

    def is_idle() -> bool:
        return time.monotonic() - stepped_down >= _REST_SECONDS

    for _ in range(_MOVES):
        leader = until("a server leads", cluster.leader, _LEAD_SECONDS)
        name = name_of(leader)
        if name == names.pod(cluster.name, ordinal):
            until("the former leader responds", is_idle, 2 * _REST_SECONDS)
            return
        number = names.ordinal_of(cluster.name, name)
        assert number is not None
        third = next(n for n in range(3) if n not in (number, ordinal))
        restart(cluster, names.pod(cluster.name, third))
        cluster.server(number).post("sys/step-down", cluster.operator_token(number), {})
        stepped_down = time.monotonic()

        def has_moved(before: str = name) -> bool:
            live = cluster.leader()
            return live is not None and name_of(live) != before

        until("another server leads", has_moved, _LEAD_SECONDS)
        until("all servers are ready", lambda: len(cluster.ready_pods()) == 3, _LEAD_SECONDS)
    raise ExpectationError(f"{cluster.name}-{ordinal} did not lead after {_MOVES} changes")


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one operator to the API server."""

    audit: AuditLog
    user: str

    def mark(self) -> int:
        """Return the current end of the log."""
        return self.audit.mark()

    def since(self, mark: int) -> list[Entry]:
        """Return all requests after the mark, without those of Leases."""
        return [entry for entry in self.audit.since(mark, self.user) if entry.resource != LEASES]

    def writes_since(self, mark: int) -> list[Entry]:
        """Return the writes after the mark, without those of Leases."""
        return writes(self.since(mark))

    def settle(self, cluster: Cluster, still: float = _STILL) -> None:
        """Wait until the cluster is available and nothing was written for `still` seconds."""
        cluster.await_available(120.0)
        if cluster.live()["spec"]["replicas"] > 1:
            cluster.await_condition("RaftMembershipReady", reason="AllVoters")
        self.await_silence(still)

    def await_silence(self, still: float = _STILL) -> None:
        """Wait until nothing was written for `still` seconds."""

        def silent() -> bool:
            mark = self.mark()
            time.sleep(still)
            return not self.writes_since(mark)

        until("the operator writes nothing", silent, 60.0)

    def assert_silent(self, seconds: float) -> None:
        """Check for some time that nothing is written, and print the reads."""
        mark = self.mark()
        throughout(
            "the operator writes nothing",
            lambda: not self.writes_since(mark),
            seconds,
            every=1.0,
        )
        print(f"\n  in {seconds:.0f} s: {tally(self.since(mark)) or 'nothing'}")


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """The result of one upgrade under load."""

    figures: Figures
    history: History
    writer: ServiceWriter

    def assert_nothing_lost(self) -> None:
        """Check that all acknowledged writes can be read, and could be read immediately."""
        assert self.writer.lost() == []
        assert self.writer.missed == []


def upgrade_under_load(
    cluster: Cluster, requests: Requests, version: str, title: str
) -> UpgradeResult:
    """Upgrade a cluster under load, wait until it has settled, and print the figures."""
    requests.settle(cluster)
    mark = requests.mark()
    with record_events(cluster) as record, ServiceWriter(cluster, reads_back=True) as writer:
        change(cluster, {"version": version})
        seconds = record.await_finished(version)
        entries = requests.since(mark)
        requests.settle(cluster)
        history = record.history
    figures = Figures(
        title,
        seconds,
        len(writer.writes),
        len(writer.failed),
        writer.longest_gap,
        len(entries),
        tuple(history.replaced()),
        tuple(history.leaders()),
    )
    print(f"\n  {writer.describe()}\n  {seconds:.1f} s, {len(entries)} requests: {tally(entries)}")
    return UpgradeResult(figures, history, writer)
