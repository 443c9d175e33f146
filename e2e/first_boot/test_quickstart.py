"""The quickstart sample: three servers, one raft cluster, an idle operator, a lost server."""

import os
from collections.abc import Iterator

import orjson
import pytest

from contracts.naming import names
from e2e.first_boot.sample import Boot, first_boot
from e2e.harness.audit import AuditLog, refusals, tally, work, writes
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Launcher
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, POD, PVC, STATEFUL_SET
from runtime.types import uid_of

# e2e/quiet checks a whole minute.
QUIET_SECONDS = 20.0
# kubelet syncs a mounted ConfigMap again after a minute and a half at most.
EMPTIED_SECONDS = 120.0


@pytest.fixture(scope="module")
def boot(
    rig: Rig, api: Api, audit: AuditLog, controller: Identity, launcher: Launcher
) -> Iterator[Boot]:
    with first_boot(rig, api, audit, controller, launcher) as boot:
        yield boot


def test_servers_are_one_cluster_of_three_voters(boot: Boot) -> None:
    cluster = boot.cluster
    assert len(cluster.pods()) == 3
    assert len(cluster.cluster_ids()) == 1
    token = cluster.operator_token()
    until_voters(cluster, token)
    raft = cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=30.0)
    assert raft["message"] == "3 of 3 servers are voters"
    status = cluster.live()["status"]["adminOps"]["raft"]
    assert {status["clusterID"]} == cluster.cluster_ids()


def test_every_condition_has_reason_message_and_generation(boot: Boot) -> None:
    live = boot.cluster.live()
    conditions = {condition["type"]: condition for condition in live["status"]["conditions"]}
    for condition in conditions.values():
        assert condition["reason"], condition
        assert condition["message"], condition
        assert condition["observedGeneration"] == live["metadata"]["generation"], condition
    good = {"Ready": "True", "Available": "True", "Stalled": "False", "Reconciling": "False"}
    good |= {"Degraded": "False", "Conflict": "False", "OpenBaoSealed": "False"}
    assert {kind: conditions[kind]["status"] for kind in good} == good
    assert live["status"]["phase"] == "Running"
    assert live["status"]["activeLeader"] in {p["metadata"]["name"] for p in boot.cluster.pods()}


def test_only_the_first_server_has_the_self_init_config(boot: Boot) -> None:
    cluster, name = boot.cluster, names.self_init_config_map(boot.cluster.name)
    assert cluster.api.find(CONFIG_MAP, cluster.namespace, name) is None
    stateful_set = cluster.api.get(STATEFUL_SET, cluster.namespace, cluster.name)
    assert name not in orjson.dumps(stateful_set["spec"]["template"]).decode()
    first, *others = cluster.pods()
    assert name in orjson.dumps(first["spec"]).decode()
    for pod in others:
        assert name not in orjson.dumps(pod["spec"]).decode(), pod["metadata"]["name"]


@pytest.mark.timeout(400)
def test_an_available_cluster_gets_no_writes_and_loses_its_self_init_config(
    boot: Boot, rig: Rig, audit: AuditLog, controller: Identity
) -> None:
    boot.cluster.await_condition("RaftMembershipReady", seconds=30.0)
    mark = audit.mark()
    throughout(
        "the operator writes nothing",
        lambda: not writes(audit.since(mark, controller.user)),
        QUIET_SECONDS,
        every=1.0,
    )
    print(
        f"\nin {QUIET_SECONDS:.0f} quiet seconds: {tally(work(audit.since(mark, controller.user)))}"
    )
    uid = boot.cluster.pods()[0]["metadata"]["uid"]
    folder = rig.paths.kubelet / "pods" / uid / "volumes" / "kubernetes.io~configmap" / "init"
    assert folder.is_dir()
    until("the folder of the first boot is empty", lambda: not visible(folder), EMPTIED_SECONDS)


@pytest.mark.timeout(400)
def test_a_lost_server_rejoins_the_same_cluster(boot: Boot) -> None:
    cluster = boot.cluster
    (before,) = cluster.cluster_ids()
    first, claim = cluster.pods()[0], names.data_claim(cluster.name, 0)
    lost = cluster.api.get(PVC, cluster.namespace, claim)
    watch = Stopwatch()
    # The PVC first: its finalizer holds it until the pod is gone. The new pod needs a new PVC.
    cluster.api.delete(PVC, cluster.namespace, claim)
    cluster.api.delete(POD, cluster.namespace, first["metadata"]["name"])

    def has_rejoined() -> bool:
        pod = cluster.api.find(POD, cluster.namespace, first["metadata"]["name"])
        return bool(pod and uid_of(pod) != uid_of(first) and is_ready(pod))

    until("the first server is ready again", has_rejoined, 90.0)
    cluster.await_available()
    assert uid_of(cluster.api.get(PVC, cluster.namespace, claim)) != uid_of(lost)
    print(f"\nready again with an empty volume after {watch.seconds:.1f} s")
    assert cluster.cluster_ids() == {before}
    until_voters(cluster, cluster.operator_token(1))


def test_no_request_was_refused(boot: Boot, audit: AuditLog, controller: Identity) -> None:
    no = refusals(audit.since(boot.start, controller.user))
    assert not no, "\n".join(map(str, no))


def until_voters(cluster: Cluster, token: str) -> None:
    """Wait until all three servers are voters, as reported by the leader."""
    expected = {names.pod(cluster.name, ordinal) for ordinal in range(3)}

    def voters() -> bool:
        members = cluster.server(1).members(token)
        return {member["node_id"] for member in members if member["voter"]} == expected

    until("the leader reports three voters", voters, 90.0, every=0.5)


def visible(folder: "os.PathLike[str]") -> list[str]:
    """List the files of a mounted ConfigMap; names that begin with two dots are kubelet's own."""
    return [name for name in os.listdir(folder) if not name.startswith("..")]
