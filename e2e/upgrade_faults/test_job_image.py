"""The step-down Job fails: the leader is not replaced until a retry succeeds.

Each attempt has its own Jobs, so a second upgrade within the hour does not find those of the first.
"""

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.service_writer import steady_voters
from e2e.harness.stopped_upgrade import assert_no_pod_changes, await_stopped, upgrade_of
from e2e.harness.upgrades import Requests, change, recorded
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES

NAME = "asked"
# An image without the program of the operator: its container cannot start.
NO_PROGRAM = openbao_reference(OPENBAO_UPGRADES[0])
ROUNDS = (
    ("a role that is not there", {"jwtAuthRole": "nobody"}, {"jwtAuthRole": None}),
    ("an image without a program", {"image": NO_PROGRAM}, {"image": None}),
)


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, make_namespace: MakeNamespace, reloading_operator: Operator
) -> Cluster:
    """Three voters of the first version."""
    rig.load_openbao(OPENBAO_UPGRADES)
    return steady_voters(
        api, make_namespace(), NAME, version=OPENBAO_UPGRADES[0], configuration=STEADFAST
    )


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", range(len(ROUNDS)), ids=[one[0] for one in ROUNDS])
def test_the_leader_is_not_replaced_until_a_retry(
    cluster: Cluster, requests: Requests, number: int
) -> None:
    _, wrong, right = ROUNDS[number]
    version, token = OPENBAO_UPGRADES[number + 1], f"try-{number}"
    change(cluster, {"upgrade": wrong})
    requests.settle(cluster)
    leader, standbys = who_leads(cluster)
    with recorded(cluster) as record:
        change(cluster, {"version": version})
        await_stopped(cluster, "StepDownFailed")
        record.catch_up()
        assert record.history.replaced() == standbys
        assert len(record.history.leaders()) == 1
        (failed,) = record.history.step_downs()
        assert not failed.succeeded
        # A retry token of an earlier attempt has no effect.
        if number:
            change(cluster, {"upgrade": {"requests": {"retry": f"try-{number - 1}"}}})
        assert_no_pod_changes(cluster, requests)
        change(cluster, {"upgrade": {**right, "requests": {"retry": token}}})
        record.await_finished(version)
        history = record.history
    assert history.replaced() == [*standbys, leader]
    assert len(history.leaders()) == 2
    jobs = [job.succeeded for job in history.step_downs()]
    assert jobs == [False, True]
    assert cluster.live()["status"]["upgradeRequests"]["lastHandledRetry"] == token


def who_leads(cluster: Cluster) -> tuple[str, list[str]]:
    """Return the leader, and the standbys in the order in which they are replaced."""
    found = until("a server leads", cluster.leader, 20.0)
    leader = name_of(found)
    pods = [names.pod(NAME, number) for number in (2, 1, 0)]
    return leader, [one for one in pods if one != leader]


def test_a_handled_retry_token_has_no_effect(cluster: Cluster, requests: Requests) -> None:
    token = cluster.live()["spec"]["upgrade"]["requests"]["retry"]
    requests.settle(cluster)
    change(cluster, {"upgrade": {"requests": {"retry": token}}})
    assert_no_pod_changes(cluster, requests)
    until("the status has no upgrade", lambda: not upgrade_of(cluster), 5.0)
