"""Creates five one-server clusters together, and measures the idle operator afterwards."""

import copy
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from e2e.demo.audit import Tally
from e2e.demo.errors import DemoError
from e2e.demo.install import apply
from e2e.demo.journal import Journal, cluster_views
from e2e.demo.objects import Object, name_of
from e2e.demo.sample import Sample, prepare_namespace, remove, with_mark
from e2e.demo.screen import duration
from e2e.demo.timeline import bring_up, creation_time, seconds_to
from e2e.demo.waiting import until_condition
from e2e.measure.bring_up import READY_SECONDS, Bench

CLUSTERS = 5
CONCURRENT_NAMESPACE = "openbao-measure"
SETTLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ConcurrentRun:
    """Seconds from the first apply to Available, by cluster, and the requests until the last."""

    seconds: dict[str, float]
    requests: Tally


def single(sample: Sample, number: int) -> Object:
    """Return the sample as a cluster of one server, in the namespace of these clusters."""
    cluster = copy.deepcopy(sample.cluster)
    cluster["metadata"]["name"] = f"one-{number}"
    cluster["metadata"]["namespace"] = CONCURRENT_NAMESPACE
    cluster["spec"]["replicas"] = 1
    return cluster


def create_clusters(bench: Bench) -> ConcurrentRun:
    """Apply all clusters together, wait for the last. Raises DemoError, ApiError, OSError."""
    namespace = copy.deepcopy(bench.sample.namespace)
    namespace["metadata"]["name"] = CONCURRENT_NAMESPACE
    clusters = [with_mark(single(bench.sample, number + 1)) for number in range(CLUSTERS)]
    prepare_namespace(bench.kubectl, bench.api, namespace)
    with Journal(bench.api, cluster_views(CONCURRENT_NAMESPACE)) as journal:
        since = datetime.now(UTC)
        apply(bench.kubectl, clusters)
        for cluster in clusters:
            name = name_of(cluster)
            until_condition(journal, bench.screen, name, "Available", READY_SECONDS)
        until = datetime.now(UTC)
        for cluster in clusters:
            name = name_of(cluster)
            until_condition(journal, bench.screen, name, "RaftMembershipReady", READY_SECONDS)
        entries = journal.entries()
    starts = [creation_time(entries, name_of(cluster)) for cluster in clusters]
    start = min(moment for moment in starts if moment is not None)
    seconds = {}
    for cluster in clusters:
        reached = seconds_to(bring_up(entries, name_of(cluster), 1, start), "Available")
        if reached is None:
            raise DemoError(f"cluster {name_of(cluster)} was not seen to become Available")
        seconds[name_of(cluster)] = reached
    return ConcurrentRun(seconds, bench.reader.count(since, until))


def quiet(bench: Bench, seconds: float) -> Tally:
    """Count the requests of the idle operator, some seconds after the last change."""
    _sleep(bench, SETTLE_SECONDS, "waiting for the last reconciles")
    since = datetime.now(UTC)
    _sleep(bench, seconds, f"counting requests for {duration(seconds)} without any change")
    return bench.reader.count(since, datetime.now(UTC))


def _sleep(bench: Bench, seconds: float, words: str) -> None:
    end = time.monotonic() + seconds
    bench.screen.waiting(words)
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 1.0))
    bench.screen.waiting("")


def delete_clusters(bench: Bench) -> None:
    """Delete the clusters with their data. Raises DemoError, ApiError, OSError."""
    for number in range(CLUSTERS):
        name = name_of(single(bench.sample, number + 1))
        remove(bench.kubectl, bench.api, CONCURRENT_NAMESPACE, name, bench.screen)
