"""Every tested pair: both strategies, one and three servers, and an operator that is killed.

`make e2e` skips this file, because it takes 20 minutes; `make e2e SCENARIO=versions` runs it.
docs/versions.md lists the pairs.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from contracts.records.bluegreen_phases import SYNCING
from e2e.conftest import sweep
from e2e.demo.objects import Object, uid_of
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.takeover import taking_over, with_blue_green
from e2e.harness.upgrades import Requests, change
from e2e.harness.waiting import throughout
from e2e.versions.outcome import BLUE_GREEN, ROLLING, Operators, Outcome, assert_all_run, outcome_of

NAME = "pair"
PAIRS = (
    ("2.4.0", "2.6.2"),
    ("2.4.0", "2.7.2"),
    ("2.6.1", "2.6.2"),
    ("2.6.2", "2.7.2"),
    ("2.7.1", "2.7.2"),
)
# Servers before 2.6 and servers from 2.6 on report no health to each other.
REFUSED = PAIRS[:2]
SIZES = (1, 3)
UPGRADES: dict[str, Object] = {
    ROLLING: {"strategy": ROLLING},
    BLUE_GREEN: with_blue_green(autoRollback={"stabilizationSeconds": 0}),
}


class Row(NamedTuple):
    """One upgrade of the matrix."""

    before: str
    after: str
    strategy: str
    size: int


ROWS = [
    Row(*pair, strategy, size)
    for pair, strategy, size in itertools.product(PAIRS, (ROLLING, BLUE_GREEN), SIZES)
    if (strategy, pair in REFUSED) != (BLUE_GREEN, True)
]


BringUp = Callable[[str, str, int], Cluster]


@pytest.fixture
def bring_up(api: Api, namespace: str, operators: Operators) -> Iterator[BringUp]:
    """Create a cluster of a version, strategy and size; it is deleted after the test."""

    def make(version: str, strategy: str, size: int) -> Cluster:
        spec = {"version": version, "replicas": size, "upgrade": UPGRADES[strategy]}
        return steady_voters(api, namespace, NAME, configuration=STEADFAST, **spec)

    yield make
    sweep(api, namespace)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row)))
def test_an_upgrade_survives_a_killed_operator_and_loses_no_write(
    bring_up: BringUp,
    operators: Operators,
    requests: Requests,
    outcomes: list[Outcome],
    row: Row,
) -> None:
    cluster = bring_up(row.before, row.strategy, row.size)
    requests.settle(cluster)
    with taking_over(cluster) as takeover, ServiceWriter(cluster) as writer:
        change(cluster, {"version": row.after})
        if row.strategy == BLUE_GREEN:
            takeover.await_phase(SYNCING)
        else:
            takeover.record.await_first_touch()
        operators.crash()
        seconds = takeover.record.await_finished(row.after)
        requests.settle(cluster)
    pair = f"{row.before} to {row.after}"
    outcomes.append(outcome_of(pair, row.strategy, row.size, seconds, writer))
    assert_all_run(cluster, row.after)
    assert len(cluster.pods()) == row.size
    assert outcomes[-1].lost == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("before", "after"), REFUSED)
def test_an_unsupported_pair_is_refused_before_any_change(
    bring_up: BringUp, requests: Requests, before: str, after: str
) -> None:
    cluster = bring_up(before, BLUE_GREEN, 1)
    requests.settle(cluster)
    pods = [uid_of(pod) for pod in cluster.pods()]
    change(cluster, {"version": after})
    cluster.await_condition("Upgrading", "False", "VersionPairRefused", seconds=30.0)

    def is_unchanged() -> bool:
        return [uid_of(pod) for pod in cluster.pods()] == pods

    throughout("no pod is replaced", is_unchanged, 3.0)
