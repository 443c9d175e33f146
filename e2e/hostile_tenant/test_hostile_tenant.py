"""All known attacks from one namespace at the same time; another namespace is not affected.

The operator runs as shipped for many tenants: two pods with the memory limit of the manifests. They
read objects by name. No admission policy refuses objects of the hostile tenant.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS
from e2e.conftest import MakeNamespace
from e2e.demo import table
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.tenants import await_reason, make_tenant
from e2e.harness.waiting import Stopwatch, until
from e2e.hostile_tenant import attack
from e2e.hostile_tenant.installed_operator import (
    InstalledOperator,
    Process,
    install_without_policies,
)
from e2e.hostile_tenant.operation_times import (
    RATIO_MAX,
    OperationTimes,
    as_text,
    compare,
    run_operations,
)
from e2e.rig import Rig
from runtime.builtin_kinds import POD

USUAL_ROUNDS = 2
ATTACK_SECONDS = 120.0
# A refused file is reported with its Secret and the limit.
EXPECTED = ("seal-long-key", "seal-many-keys", "seal-deep", "seal-dsa")


@dataclass(frozen=True, slots=True)
class Record:
    """The observations before, during and after the attack."""

    api: Api
    hostile: str
    usual: tuple[OperationTimes, ...]
    under_attack: tuple[OperationTimes, ...]
    processes: tuple[Process, ...]
    leases: tuple[dict[str, tuple[str, int]], dict[str, tuple[str, int]]]
    pods: tuple[set[str], set[str]]


@pytest.fixture(scope="module")
def operator_in_pods(rig: Rig, api: Api) -> Iterator[InstalledOperator]:
    attack.load_image(rig)
    with install_without_policies(rig, api) as operator:
        yield operator


@pytest.fixture(scope="module")
def record(api: Api, operator_in_pods: InstalledOperator, make_namespace: MakeNamespace) -> Record:
    calm, hostile = make_namespace(), make_namespace()
    await_reason(api, make_tenant(api, calm), "Provisioned")
    await_reason(api, make_tenant(api, hostile, quota=attack.QUOTA), "Provisioned")
    usual = tuple(run_operations(api, calm, f"usual-{number}") for number in range(USUAL_ROUNDS))
    before = operator_in_pods.holders(), _pods(operator_in_pods)
    count, refusals = attack.begin(api, attack.objects(hostile))
    print(f"\nthe hostile tenant created {count} objects; {len(refusals)} were refused")
    for words in sorted(set(refusals))[:5]:
        print(f"  {words}")
    until(
        "a hostile server of each behavior runs",
        lambda: _hostile_servers(api, hostile),
        120.0,
        every=1.0,
    )
    under_attack: list[OperationTimes] = []
    watch = Stopwatch()
    while watch.seconds < ATTACK_SECONDS or len(under_attack) < USUAL_ROUNDS:
        under_attack.append(run_operations(api, calm, f"attacked-{len(under_attack)}"))
    return Record(
        api,
        hostile,
        usual,
        tuple(under_attack),
        tuple(operator_in_pods.processes()),
        (before[0], operator_in_pods.holders()),
        (before[1], _pods(operator_in_pods)),
    )


def _pods(installation: InstalledOperator) -> set[str]:
    return {str(pod["metadata"]["uid"]) for pod in installation.pods()}


def _hostile_servers(api: Api, namespace: str) -> bool:
    """Whether a server of each behavior runs."""
    running = {
        str(pod["metadata"]["name"]).partition("-")[0]
        for pod in api.list(POD, namespace)
        if pod["status"].get("phase") == "Running"
    }
    return set(attack.SERVERS) <= running


@pytest.mark.timeout(1500)
def test_operations_of_the_other_tenant_take_no_longer_than_usual(record: Record) -> None:
    figures = compare(record.usual, record.under_attack)
    print(f"\n{as_text(figures)}")
    for figure in figures:
        budget(f"{figure.what} under attack", figure.ratio, RATIO_MAX, "times the usual")


def test_no_process_was_restarted_and_no_lease_was_lost(record: Record) -> None:
    assert [process.pod for process in record.processes if process.restarts] == []
    assert record.pods[0] == record.pods[1]
    assert record.leases[0] == record.leases[1]


def test_the_memory_stays_below_the_limit(record: Record) -> None:
    rows = [
        (process.pod, f"{process.highest:.0f} MB", f"{process.limit:.0f} MB", str(process.restarts))
        for process in record.processes
    ]
    print(f"\n{table.plain(('pod', 'at most', 'limit', 'restarts'), rows)}")
    assert all(process.highest < process.limit for process in record.processes)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_condition_names_the_invalid_secret(record: Record, name: str) -> None:
    cluster = Cluster(record.api, record.hostile, name)
    messages = [
        condition["message"] for condition in cluster.conditions() if condition["status"] != "True"
    ]
    assert any(f"{name}-seal" in message for message in messages), cluster.describe()


def test_objects_of_the_hostile_tenant_can_be_deleted(record: Record) -> None:
    for live in record.api.list(CLUSTERS, record.hostile):
        record.api.delete(CLUSTERS, record.hostile, live["metadata"]["name"])
    left = f"cluster of {record.hostile} is left"
    until(f"no {left}", lambda: not record.api.list(CLUSTERS, record.hostile), 300.0, every=1.0)
