"""Upgrades of clusters by operators that each crash at one write, and by one that completes them.

Each cluster has its own namespace, and each of the first operators watches one of them. The audit
log shows who created and deleted the pods, and how often.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.demo.objects import condition, status_of
from e2e.harness.audit import Entry
from e2e.harness.clusters import Cluster
from e2e.harness.crashing_operator import Plan, Position, Result, read_results, write_plans
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.upgrade_history import finished, image_of
from e2e.harness.upgrades import Requests, change, recorded
from e2e.harness.waiting import NotSoError, Stopwatch, until
from e2e.harness.write_key import WriteKey, of_entry
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from managers.upgrade.rolling.facts import STEP_DOWN_TRIES
from runtime.builtin_kinds import EVENT, JOB
from runtime.types import uid_of

CRASHING = ("e2e.harness.crashing_operator",)
_MAKER = "system:serviceaccount:kube-system:statefulset-controller"
# Much longer than from the start to a write of an upgrade: a timeout for a hanging process.
_SECONDS_EACH = 30.0
_UP_SECONDS = 240.0
# A pod restarts in less; after that time an upgrade has no further writes.
_POD_SECONDS = 30


@dataclass(slots=True)
class Case:
    """One cluster, the write at which its operator crashes, and the result."""

    cluster: Cluster
    write: WriteKey
    occurrence: int
    position: Position
    last_writes: int = _POD_SECONDS
    """Seconds without a write after which its operator has nothing left to do."""
    uids: dict[str, str] = field(default_factory=dict)
    """Names and UIDs of the servers before the upgrade."""
    result: Result | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        """The planned crash of its first operator."""
        return Plan(
            self.cluster.namespace, self.write, self.occurrence, self.position, self.last_writes
        )

    def __str__(self) -> str:
        what = f"{self.position:<6} {self.write} #{self.occurrence}"
        came = "not reached"
        if self.result is not None:
            came = f"{'at' if self.result.crashed else 'not in'} {self.result.seconds:4.1f} s"
        return f"{what:<84} {came:<13} {'; '.join(self.faults) or 'ok'}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Upgrades many clusters in parallel."""

    api: Api
    requests: Requests
    launcher: Launcher
    identity: Identity
    folder: Path

    def environment(self) -> dict[str, str]:
        """Return the environment of the operators, which need their own image for Jobs."""
        return {"OPERATOR_IMAGE": self.api.rig.load_operator_image()}

    def whole(self, *arguments: str) -> Operator:
        """Start an operator that is not killed."""
        return self.launcher.start(
            self.identity, NO_ELECTION, *arguments, environment=self.environment()
        )

    def bring_up(
        self, make_namespace: Callable[[], str], count: int, name: str, **spec: object
    ) -> list[Cluster]:
        """Create clusters of the first version in parallel, and stop the operator of this step."""
        operator = self.whole()
        made = [Cluster(self.api, make_namespace(), name) for _ in range(count)]
        for one in made:
            requests = (key_value_engine(), *client_login(one.namespace))
            wanted = {
                "version": OPENBAO_UPGRADES[0],
                "configuration": STEADY,
                "selfInit": self_init(*requests),
                **spec,
            }
            self.api.create(CLUSTERS, manifest(one.namespace, name, **wanted))
        for one in made:
            one.await_available(_UP_SECONDS)
            if one.live()["spec"]["replicas"] > 1:
                one.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
        operator.stop()
        return made

    def writes_of(self, cluster: Cluster, version: str) -> list[WriteKey]:
        """Upgrade a cluster without a crash and return the writes in order.

        Without events, because nothing depends on them.
        """
        operator = self.whole("--watch-namespace", cluster.namespace)
        self.requests.settle(cluster)
        mark = self.requests.mark()
        with recorded(cluster) as record:
            change(cluster, {"version": version})
            record.await_finished(version)
        self.requests.settle(cluster)
        operator.stop()
        keys = [of_entry(one) for one in self.requests.writes_since(mark)]
        return [key for key in keys if key.resource != EVENT.plural]

    def run(
        self, cases: Sequence[Case], version: str, seconds: float, check: "Check | None" = None
    ) -> None:
        """Upgrade all clusters: their first operators crash, and another operator completes them.

        `check` returns the faults of a cluster after that; the default is `faults`.
        """
        for case in cases:
            case.uids = {pod["metadata"]["name"]: uid_of(pod) for pod in case.cluster.pods()}
        mark, watch = self.requests.mark(), Stopwatch()
        for case in cases:
            change = {"spec": {"version": version}}
            self.api.patch(CLUSTERS, case.cluster.namespace, case.cluster.name, change)
        results = self._crash([case.plan for case in cases], seconds)
        for case in cases:
            case.result = results.get(case.cluster.namespace)
        crashed_at = watch.seconds
        successor = self.whole()
        for case in cases:
            self._await(case, version, max(10.0, seconds - (watch.seconds - crashed_at)))
        print(f"\n{len(cases)} crashes in {crashed_at:.0f} s, all done in {watch.seconds:.0f} s")
        entries = self.requests.audit.since(mark)
        for case in cases:
            case.faults += [] if case.faults else (check or faults)(case, entries, version)
        assert successor.alive, successor.tail()
        successor.stop()
        print("\n".join(map(str, cases)))

    def _crash(self, plans: list[Plan], seconds: float) -> dict[str, Result]:
        number = len(list(self.folder.glob("plans-*")))
        plans_path, results_path = (
            self.folder / f"{word}-{number}" for word in ("plans", "results")
        )
        write_plans(plans_path, plans)
        process = self.launcher.start(
            self.identity, str(plans_path), str(results_path),
            module=CRASHING, environment=self.environment(),
        )  # fmt: skip
        process.wait(max(seconds, 30.0 + _SECONDS_EACH * len(plans)))
        return read_results(results_path)

    def _await(self, case: Case, version: str, seconds: float) -> None:
        try:
            until(
                f"{case.cluster.namespace} is upgraded",
                lambda: finished(case.cluster.live(), version),
                seconds,
            )
        except NotSoError as error:
            shown = status_of(case.cluster.live()).get("upgrade")
            case.faults.append(f"{error} {shown} {case.cluster.describe()}")


Check = Callable[[Case, Sequence[Entry], str], list[str]]


def faults(case: Case, entries: Sequence[Entry], version: str) -> list[str]:
    """Return the faults of a cluster whose rolling upgrade another operator completed."""
    found = unfinished(case, entries, version)
    jobs = [one for one in case.cluster.api.list(JOB, case.cluster.namespace) if _steps_down(one)]
    # With many servers on one node the leader sometimes changes: one that leads again gets a second
    # Job, and one that has lost its leadership gets none. e2e/upgrade_rolling checks that an idle
    # cluster has exactly one Job.
    if len(jobs) > (STEP_DOWN_TRIES if len(case.uids) > 1 else 0):
        found.append(f"{len(jobs)} Jobs requested a step-down")
    return found


def unfinished(case: Case, entries: Sequence[Entry], version: str) -> list[str]:
    """Return the faults of a cluster that another operator upgraded, with any strategy."""
    if case.result is None:
        return ["no result"]
    cluster, wanted = case.cluster, openbao_reference(version)
    found = [
        f"{pod['metadata']['name']} was not replaced"
        for pod in cluster.pods()
        if image_of(pod) != wanted or uid_of(pod) in case.uids.values()
    ]
    here = [one for one in entries if one.namespace == cluster.namespace]
    made = Counter(
        one.user for one in here
        if (one.verb, one.resource, one.subresource, one.code) == ("create", "pods", "", 201)
    )  # fmt: skip
    if made[_MAKER] != len(case.uids):
        found.append(f"{made[_MAKER]} pods were made for {len(case.uids)} servers")
    if len(cluster.cluster_ids()) != 1:
        found.append("more than one cluster id")
    live = cluster.live()
    if (condition(live, "Degraded") or {}).get("status") == "True":
        found.append("Degraded")
    return found


def _steps_down(job: Object) -> bool:
    marks = job["metadata"].get("labels") or {}
    return bool(marks.get(labels.COMPONENT) == "upgrade")
