"""The leader is frozen after it marked a volume, and before it requests to remove that raft peer.

Meanwhile another operator leads and removes the server; the cluster is scaled up again, and a new
server of that name votes. The new volume does not show the resumed operator that it is another one.
"""

import signal
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.harness.audit import AuditLog, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADY, client_login, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher, Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.scale.steps import await_size, members_of, operator_token, scale
from runtime.builtin_kinds import PVC
from runtime.types import uid_of

TAKEOVER_WITHIN = 35.0
ENDS_WITHIN = 30.0
# A resumed operator would send its request immediately.
LOOKED_ON_FOR = 5.0


def is_stopped(operator: Operator) -> bool:
    """Whether this process is stopped (proc(5), the third field)."""
    stat = Path(f"/proc/{operator.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


@pytest.mark.timeout(600)
def test_a_leader_frozen_after_marking_a_volume_removes_no_server(
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    controller: Identity,
    rival: Identity,
    namespace: str,
) -> None:
    leader = launcher.start(controller, module=("e2e.harness.stopping_operator",))
    leader.await_leading()
    standby = launcher.start(rival)
    cluster = Cluster(api, namespace, "voters")
    spec = {"configuration": STEADY, "selfInit": self_init(*client_login(namespace)), "replicas": 2}
    api.create(CLUSTERS, manifest(namespace, cluster.name, **spec))
    await_size(cluster, 2)
    claim = names.data_claim(cluster.name, 1)
    marked = api.get(PVC, namespace, claim)

    scale(cluster, 1)
    until("the leader is stopped after its mark", lambda: is_stopped(leader), 60.0)
    live = api.get(PVC, namespace, claim)
    assert labels.REMOVED_PEER in live["metadata"]["annotations"]
    assert len(members_of(cluster, operator_token(cluster))) == 2

    until("the standby leads", lambda: standby.has_logged("became leader"), TAKEOVER_WITHIN)
    await_size(cluster, 1)
    until("the PVC is gone", lambda: api.find(PVC, namespace, claim) is None, 60.0)
    scale(cluster, 2)
    await_size(cluster, 2)
    assert uid_of(api.get(PVC, namespace, claim)) != uid_of(marked)

    mark, watch = audit.mark(), Stopwatch()
    leader.faults_expected = True
    leader.signal(signal.SIGCONT)
    throughout("both servers vote", lambda: _both_vote(cluster), LOOKED_ON_FOR)
    assert leader.wait(ENDS_WITHIN) != 0
    print(f"\nthe frozen operator exited {watch.seconds:.1f} s after it was resumed")
    assert leader.has_logged("stopped: the leader lease was lost"), leader.tail()
    assert not writes(audit.since(mark, controller.user))
    await_size(cluster, 2)
    assert standby.alive


def _both_vote(cluster: Cluster) -> bool:
    members = members_of(cluster, operator_token(cluster))
    return sorted((member["node_id"], member["voter"]) for member in members) == [
        (names.pod(cluster.name, ordinal), True) for ordinal in range(2)
    ]
