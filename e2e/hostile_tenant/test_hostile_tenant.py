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
from e2e.hostile_tenant.calm import RATIO_MAX, Round, as_text, compare, play
from e2e.hostile_tenant.installed import Process, Shipped, install_without_policies
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
    usual: tuple[Round, ...]
    under_attack: tuple[Round, ...]
    processes: tuple[Process, ...]
    leases: tuple[dict[str, tuple[str, int]], dict[str, tuple[str, int]]]
    pods: tuple[set[str], set[str]]


@pytest.fixture(scope="module")
def operator_in_pods(rig: Rig, api: Api) -> Iterator[Shipped]:
    attack.load_image(rig)
    with install_without_policies(rig, api) as operator:
        yield operator


@pytest.fixture(scope="module")
def fight(api: Api, operator_in_pods: Shipped, make_namespace: MakeNamespace) -> Record:
    calm, hostile = make_namespace(), make_namespace()
    await_reason(api, make_tenant(api, calm), "Provisioned")
    await_reason(api, make_tenant(api, hostile, quota=attack.QUOTA), "Provisioned")
    usual = tuple(play(api, calm, f"usual-{number}") for number in range(USUAL_ROUNDS))
    before = operator_in_pods.holders(), _pods(operator_in_pods)
    count, refusals = attack.begin(api, attack.objects(hostile))
    print(f"\nthe hostile tenant made {count} objects; {len(refusals)} were refused")
    for words in sorted(set(refusals))[:5]:
        print(f"  {words}")
    until(
        "a hostile server of each behaviour runs",
        lambda: _hostile_servers(api, hostile),
        120.0,
        every=1.0,
    )
    under_attack: list[Round] = []
    watch = Stopwatch()
    while watch.seconds < ATTACK_SECONDS or len(under_attack) < USUAL_ROUNDS:
        under_attack.append(play(api, calm, f"attacked-{len(under_attack)}"))
    return Record(
        api,
        hostile,
        usual,
        tuple(under_attack),
        tuple(operator_in_pods.processes()),
        (before[0], operator_in_pods.holders()),
        (before[1], _pods(operator_in_pods)),
    )


def _pods(installation: Shipped) -> set[str]:
    return {str(pod["metadata"]["uid"]) for pod in installation.pods()}


def _hostile_servers(api: Api, namespace: str) -> bool:
    """Whether a server of each behaviour runs."""
    running = {
        str(pod["metadata"]["name"]).partition("-")[0]
        for pod in api.list(POD, namespace)
        if pod["status"].get("phase") == "Running"
    }
    return set(attack.SERVERS) <= running


@pytest.mark.timeout(1500)
def test_operations_of_the_other_tenant_take_no_longer_than_usual(fight: Record) -> None:
    figures = compare(fight.usual, fight.under_attack)
    print(f"\n{as_text(figures)}")
    for figure in figures:
        budget(f"{figure.what} under attack", figure.ratio, RATIO_MAX, "times the usual")


def test_no_process_was_restarted_and_no_lease_was_lost(fight: Record) -> None:
    assert [process.pod for process in fight.processes if process.restarts] == []
    assert fight.pods[0] == fight.pods[1]
    assert fight.leases[0] == fight.leases[1]


def test_the_memory_stays_below_the_limit(fight: Record) -> None:
    rows = [
        (process.pod, f"{process.highest:.0f} MB", f"{process.limit:.0f} MB", str(process.restarts))
        for process in fight.processes
    ]
    print(f"\n{table.plain(('pod', 'at most', 'limit', 'restarts'), rows)}")
    assert all(process.highest < process.limit for process in fight.processes)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_condition_names_the_invalid_secret(fight: Record, name: str) -> None:
    cluster = Cluster(fight.api, fight.hostile, name)
    messages = [
        condition["message"] for condition in cluster.conditions() if condition["status"] != "True"
    ]
    assert any(f"{name}-seal" in message for message in messages), cluster.describe()


def test_objects_of_the_hostile_tenant_can_be_deleted(fight: Record) -> None:
    for live in fight.api.list(CLUSTERS, fight.hostile):
        fight.api.delete(CLUSTERS, fight.hostile, live["metadata"]["name"])
    left = f"cluster of {fight.hostile} is left"
    until(f"no {left}", lambda: not fight.api.list(CLUSTERS, fight.hostile), 300.0, every=1.0)
