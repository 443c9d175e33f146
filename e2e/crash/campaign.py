"""A batch of clusters whose first operators crash at one write each, and the next operator.

The first operators are restricted to one namespace each; the next operator reconciles all of them.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.audit import AuditLog, Entry
from e2e.harness.clusters import Cluster
from e2e.harness.crashing_operator import Plan, Result, read_results, write_plans
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.waiting import Stopwatch
from runtime.builtin_kinds import POD, SECRET
from runtime.types import uid_of

# Far more than a run needs, so that a hang fails the test.
SECONDS_EACH = 15.0
CRASHING = ("e2e.harness.crashing_operator",)
# The Secrets that are created exactly once per cluster.
ONCE = (names.unseal_key_secret, names.tls_ca_secret, names.root_token_secret)


@dataclass(slots=True)
class Case:
    """One plan, and the state of its cluster."""

    plan: Plan
    cluster: Cluster
    belongings: set[tuple[str, str]]
    """Kind and name of all objects that the cluster has after a first boot."""
    result: Result | None = None
    secrets: dict[str, str] = field(default_factory=dict)
    """Secrets after the crash: name to a digest of UID and content."""
    pod: str = ""
    """UID of the first server after the crash."""
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        plan = self.plan
        number = f" #{plan.occurrence}" if plan.occurrence > 1 else ""
        what = f"{plan.position:<6} {plan.write}{number}"
        if self.result is None:
            return f"{what:<78} not run"
        ended = f"at {self.result.seconds:4.1f} s" if self.result.crashed else "not reached"
        return f"{what:<78} {ended:<13} {'; '.join(self.faults) or 'ok'}"


@dataclass(frozen=True, slots=True)
class Campaign:
    """Runs batches of cases."""

    api: Api
    audit: AuditLog
    launcher: Launcher
    identity: Identity
    folder: Path

    def run(self, cases: Sequence[Case], body_of: Callable[[str], Object], seconds: float) -> None:
        """Crash every operator of the batch, start the next operator, and check each cluster."""
        mark, watch = self.audit.mark(), Stopwatch()
        for case in cases:
            self.api.create(CLUSTERS, body_of(case.plan.namespace))
        results = self._crash([case.plan for case in cases])
        for case in cases:
            case.result = results.get(case.plan.namespace)
            case.secrets = _secrets(case.cluster)
            pod = self.api.find(POD, case.plan.namespace, names.pod(case.cluster.name, 0))
            case.pod = uid_of(pod) if pod else ""
        crashed_at = watch.seconds
        successor = self.launcher.start(self.identity, NO_ELECTION)
        for case in cases:
            _await(case, max(5.0, seconds - (watch.seconds - crashed_at)))
        print(f"\n{len(cases)} crashes in {crashed_at:.0f} s, all done in {watch.seconds:.0f} s")
        entries = self.audit.since(mark)
        for case in cases:
            case.faults += [] if case.faults else faults(case, entries)
        assert successor.alive, successor.tail()
        successor.stop()

    def _crash(self, plans: list[Plan]) -> dict[str, Result]:
        number = len(list(self.folder.glob("plans-*")))
        plans_path, results_path = (
            self.folder / f"{word}-{number}" for word in ("plans", "results")
        )
        write_plans(plans_path, plans)
        process = self.launcher.start(
            self.identity, str(plans_path), str(results_path), module=CRASHING
        )
        process.wait(20.0 + SECONDS_EACH * len(plans))
        return read_results(results_path)


def _await(case: Case, seconds: float) -> None:
    try:
        case.cluster.await_available(seconds)
        case.cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=20.0)
    except AssertionError as error:
        case.faults.append(str(error))


def faults(case: Case, entries: Iterable[Entry]) -> list[str]:
    """Return the faults of a cluster whose first boot another operator completed."""
    if case.result is None:
        return ["no result"]
    differences, cluster = [], case.cluster
    reported = cluster.live()["status"]["adminOps"]["raft"]["clusterID"]
    if (ids := cluster.cluster_ids()) != {reported}:
        differences.append(f"cluster ids {ids}, status has {reported}")
    after = _secrets(cluster)
    if changed := [name for name, was in case.secrets.items() if after.get(name) != was]:
        differences.append(f"changed: {changed}")
    if case.pod and uid_of(cluster.pods()[0]) != case.pod:
        differences.append("the first server was replaced")
    if left := cluster.belongings() ^ case.belongings:
        differences.append(f"missing or left over: {sorted(left)}")
    return differences + _created_twice(case, entries)


def _created_twice(case: Case, entries: Iterable[Entry]) -> list[str]:
    creations = Counter(
        entry.name
        for entry in entries
        if (entry.namespace, entry.resource) == (case.plan.namespace, SECRET.plural)
        and entry.code == 201
    )
    once = {name(case.cluster.name) for name in ONCE}
    return [f"{name} created {n} times" for name, n in creations.items() if name in once and n != 1]


def _secrets(cluster: Cluster) -> dict[str, str]:
    secrets = cluster.api.list(SECRET, cluster.namespace)
    return {secret["metadata"]["name"]: _digest(secret) for secret in secrets}


def _digest(secret: Object) -> str:
    content = orjson.dumps([uid_of(secret), secret.get("data")], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(content).hexdigest()[:16]
