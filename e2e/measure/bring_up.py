"""Creates a cluster of three servers: with the operator, and with a script of the same objects."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from contracts.naming import labels
from e2e.demo.api import Api
from e2e.demo.audit import Tally
from e2e.demo.errors import DemoError
from e2e.demo.install import apply
from e2e.demo.journal import Journal, cluster_views
from e2e.demo.kubectl import Kubectl
from e2e.demo.objects import Object, is_ready, name_of
from e2e.demo.progress import pod_state
from e2e.demo.sample import Sample, prepare_namespace, remove, with_mark
from e2e.demo.screen import Screen
from e2e.demo.speed import AuditReader
from e2e.demo.timeline import Milestone, bring_up, creation_time
from e2e.demo.waiting import cluster_pods, until_condition
from e2e.measure.template import READ, Kind, NamespaceChange, Script, script

BARE_NAMESPACE = "openbao-bare"
READY_SECONDS = 180.0
GONE_SECONDS = 180.0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Bench:
    """The environment of the measurements."""

    kubectl: Kubectl
    api: Api
    screen: Screen
    reader: AuditReader
    sample: Sample


@dataclass(frozen=True, slots=True)
class OperatorRun:
    """A first boot with the operator: requests until Available, and from there to three voters."""

    milestones: list[Milestone]
    requests: Tally
    requests_to_voters: Tally


def with_operator(bench: Bench) -> tuple[OperatorRun, Script]:
    """Create the sample; return the measurements, and the script for a run without operator.

    Raises DemoError, ApiError, OSError.
    """
    sample, screen = bench.sample, bench.screen
    prepare_namespace(bench.kubectl, bench.api, sample.namespace)
    remove(bench.kubectl, bench.api, sample.home, sample.name, screen)
    with Journal(bench.api, cluster_views(sample.home)) as journal:
        since = datetime.now(UTC)
        apply(bench.kubectl, [sample.account, with_mark(sample.cluster)])
        until_condition(journal, screen, sample.name, "Available", READY_SECONDS)
        until = datetime.now(UTC)
        until_condition(journal, screen, sample.name, "RaftMembershipReady", READY_SECONDS)
        settled = datetime.now(UTC)
        entries = journal.entries()
    start = creation_time(entries, sample.name)
    if start is None:
        raise DemoError(f"cluster {sample.name} was never seen")
    run = OperatorRun(
        bring_up(entries, sample.name, sample.replicas, start),
        bench.reader.count(since, until),
        bench.reader.count(until, settled),
    )
    read = _read(bench.api, sample.home, sample.name)
    return run, script(entries, read, sample.name, NamespaceChange(sample.home, BARE_NAMESPACE))


def _read(api: Api, namespace: str, cluster: str) -> list[tuple[Kind, Object]]:
    selector = f"labelSelector={labels.CLUSTER}%3D{cluster}"
    return [(kind, obj) for kind in READ for obj in api.items(f"{kind.path(namespace)}?{selector}")]


def without_operator(bench: Bench, steps: Script) -> list[Milestone]:
    """Apply the script in a new namespace, and delete it again.

    Raises DemoError, ApiError, OSError.
    """
    sample, api = bench.sample, bench.api
    namespace = with_mark(sample.namespace)
    namespace["metadata"]["name"] = BARE_NAMESPACE
    remove_namespace(bench, BARE_NAMESPACE)
    apply(bench.kubectl, [namespace])
    with Journal(api, cluster_views(BARE_NAMESPACE)) as journal:
        start = time.monotonic()
        for kind, obj in steps.first:
            api.apply(kind.path(BARE_NAMESPACE, name_of(obj)), obj)
        _until_ready(bench, journal, 1)
        kind, obj = steps.then
        api.apply(kind.path(BARE_NAMESPACE, name_of(obj)), obj)
        _until_ready(bench, journal, sample.replicas)
        entries = journal.entries()
    remove_namespace(bench, BARE_NAMESPACE)
    return bring_up(entries, sample.name, sample.replicas, start)


def _until_ready(bench: Bench, journal: Journal, count: int) -> None:
    def missing() -> str | None:
        pods = cluster_pods(journal, bench.sample.name)
        if sum(map(is_ready, pods)) >= count:
            return None
        rest = [f"{name_of(pod)} {pod_state(pod)}" for pod in pods if not is_ready(pod)]
        return "; ".join(["without operator", *rest])

    wait(bench.screen, missing, READY_SECONDS, lambda: journal.wait(_LOOK_SECONDS))


def wait(
    screen: Screen, missing: Callable[[], str | None], seconds: float, pause: Callable[[], None]
) -> None:
    """Wait until nothing is missing. Raises DemoError with the rest after ``seconds``."""
    deadline = time.monotonic() + seconds
    while (words := missing()) is not None:
        if time.monotonic() > deadline:
            raise DemoError(f"not after {seconds:.0f} s: {words}")
        screen.waiting(words)
        pause()
    screen.waiting("")


def remove_namespace(bench: Bench, name: str) -> None:
    """Delete the namespace of a measurement, and wait until it is gone. Raises DemoError."""
    path = f"/api/v1/namespaces/{name}"
    if bench.api.find(path) is None:
        return
    bench.kubectl("delete", "namespace", name, "--wait=false")
    # A server without its peers would use its whole grace period.
    bench.kubectl("delete", "pods", "--all", "-n", name, "--grace-period=1", "--wait=false")

    def missing() -> str | None:
        return None if bench.api.find(path) is None else f"namespace {name} is terminating"

    wait(bench.screen, missing, GONE_SECONDS, lambda: time.sleep(_LOOK_SECONDS))
