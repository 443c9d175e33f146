"""An upgrade of three servers from 2.4.0 past 2.6.0, which renamed the forwarding service.

The autopilot of a leader on one side gets no health of a follower on the other side; the operator
judges such a follower by its raft log (contracts.server_features.reports_health).
"""

import pytest

from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.bao import AUDIENCE
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import CLIENT, SECRETS, STEADFAST
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.upgrades import Requests, change, record_events
from e2e.harness.waiting import until
from e2e.rig.versions import OPENBAO, OPENBAO_OLDEST
from e2e.versions.outcome import ROLLING, Operators, Outcome, assert_all_run, outcome_of

READ_BACK_WRITES = 60


def bring_up(api: Api, make_namespace: MakeNamespace, name: str) -> Cluster:
    return steady_voters(
        api, make_namespace(), name, version=OPENBAO_OLDEST, configuration=STEADFAST
    )


@pytest.mark.timeout(900)
def test_an_upgrade_can_be_reverted_midway_and_repeated(
    api: Api,
    make_namespace: MakeNamespace,
    operators: Operators,
    requests: Requests,
    outcomes: list[Outcome],
) -> None:
    cluster = bring_up(api, make_namespace, "newest")
    requests.settle(cluster)
    with record_events(cluster) as record, ServiceWriter(cluster) as writer:
        change(cluster, {"version": OPENBAO})
        record.await_first_touch()
        change(cluster, {"version": OPENBAO_OLDEST})
        requests.settle(cluster)
        back = writer
    assert_all_run(cluster, OPENBAO_OLDEST)
    assert back.lost() == []
    with record_events(cluster) as record, ServiceWriter(cluster) as writer:
        change(cluster, {"version": OPENBAO})
        seconds = record.await_finished(OPENBAO)
        requests.settle(cluster)
    pair = f"{OPENBAO_OLDEST} to {OPENBAO}"
    outcomes.append(outcome_of(pair, ROLLING, 3, seconds, writer))
    assert_all_run(cluster, OPENBAO)
    assert outcomes[-1].lost == []
    assert_a_client_reads_what_it_wrote(cluster)


def assert_a_client_reads_what_it_wrote(cluster: Cluster) -> None:
    """Immediately and from every server: standbys forward reads to the leader."""
    leader = cluster.server(name_of(until("a server leads", cluster.leader, 30.0)))
    token = leader.login(CLIENT, cluster.api.token(cluster.namespace, CLIENT, AUDIENCE))
    path = f"{SECRETS}/read-back"
    for number in range(READ_BACK_WRITES):
        value = {"value": str(number)}
        leader.post(path, token, value)
        answers = [cluster.server(ordinal).get(path, token)["data"] for ordinal in range(3)]
        assert answers == [value] * 3
