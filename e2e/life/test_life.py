"""The life cycle of one cluster, under load; run by `make test`.

Each step is the shortest one that shows a capability on real servers; the details are in a separate
scenario for each. The tests depend on each other, in this order.
"""

import uuid
from collections.abc import Iterator

import pytest

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES, TENANTS
from contracts.datacenter.kinds import DATACENTERS
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import sleeper
from e2e.demo.objects import name_of
from e2e.harness.audit import AuditLog
from e2e.harness.backups import SELDOM, Reader, backup_now, make_credentials, restore
from e2e.harness.bao import BaoError
from e2e.harness.clusters import Cluster
from e2e.harness.datacenters import ON, DatacenterUnderTest, install_datacenters
from e2e.harness.installation import NAMESPACE as OPERATOR_NAMESPACE
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.modes import tenant_controller
from e2e.harness.operator import Launcher, Operator, run_without_refusals
from e2e.harness.rolls import leader_of, log_of, roll
from e2e.harness.service_writer import ServiceWriter, steady_voters, write_without_loss
from e2e.harness.stores import Store
from e2e.harness.tenants import await_reason, make_tenant, provisioner_identity, start_provisioner
from e2e.harness.upgrades import Requests, change, upgrade_under_load
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.versions import OPENBAO, OPENBAO_PREVIOUS
from e2e.scale.steps import await_size, scale
from runtime.builtin_kinds import ROLE

NAME = "life"
# The account of `modes.tenant_controller`.
CONTROLLER = "e2e-tenants"
# The timeout of each wait.
SECONDS = 240.0
GAP_SECONDS = 5.0
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def operator_with_datacenters(
    rig: Rig, launcher: Launcher, audit: AuditLog, controller: Identity
) -> Iterator[Operator]:
    """One operator for clusters and datacenters. None of its requests is refused."""
    rig.load_openbao((OPENBAO_PREVIOUS, OPENBAO))
    install_datacenters(rig)
    environment = {**ON, "OPERATOR_IMAGE": rig.load_operator_image()}
    yield from run_without_refusals(launcher, audit, controller, environment)


@pytest.fixture(scope="module")
def cluster(
    api: Api, make_namespace: MakeNamespace, operator_with_datacenters: Operator, store: Store
) -> Cluster:
    """Three voters of the previous release, with a store for their snapshots."""
    assert operator_with_datacenters.alive
    namespace = make_namespace()
    make_credentials(api, namespace, store)
    backup = {"schedule": SELDOM, "target": store.target()}
    return steady_voters(api, namespace, NAME, version=OPENBAO_PREVIOUS, backup=backup)


@pytest.fixture
def writer(cluster: Cluster) -> Iterator[ServiceWriter]:
    """A client that writes throughout the test; the leader has every acknowledged write."""
    yield from write_without_loss(cluster, GAP_SECONDS)


def await_whole(cluster: Cluster) -> None:
    """Wait until every server is ready and a voter."""
    cluster.await_available(SECONDS)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=SECONDS)


def test_a_first_boot_creates_one_cluster(cluster: Cluster) -> None:
    assert len(cluster.pods()) == 3
    assert len(cluster.cluster_ids()) == 1
    assert {cluster.server(n).health()["version"] for n in range(3)} == {OPENBAO_PREVIOUS}


def test_another_server_leads_after_the_leader_is_killed(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    victim = leader_of(cluster)
    assert victim is not None
    before = cluster.pod_uids()
    kill = ("delete", "pod", victim, "-n", cluster.namespace, "--force", "--grace-period=0")
    cluster.api.rig.kubectl(*kill)
    until("another server leads", lambda: leader_of(cluster) not in (None, victim), SECONDS)
    until(f"another {victim} is ready", lambda: len(cluster.ready_pods()) == 3, SECONDS)
    await_whole(cluster)
    assert len(cluster.pod_uids() - before) == 1
    assert len(cluster.cluster_ids()) == 1


def test_a_log_level_is_reloaded_without_a_new_pod(cluster: Cluster, writer: ServiceWriter) -> None:
    before = cluster.pod_uids()
    change(cluster, {"configuration": {"logLevel": "debug"}})
    await_whole(cluster)

    def is_reloaded() -> bool:
        return all("[DEBUG]" in log_of(cluster, name_of(pod)) for pod in cluster.pods())

    until("every server logs at the new level", is_reloaded, SECONDS)
    assert cluster.pod_uids() == before


def test_a_changed_pod_template_rolls_every_server_and_the_leader_last(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    roll(cluster, {"resources": {"requests": {"memory": "48Mi"}}})


def test_servers_leave_and_join_when_the_cluster_is_scaled(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    for replicas in (1, 3):
        scale(cluster, replicas)
        await_size(cluster, replicas, SECONDS)


def test_a_backup_is_restored(cluster: Cluster) -> None:
    Reader.of(cluster).write("greeting", "before")
    backup_now(cluster, "first").await_phase("Completed", SECONDS)
    client = Reader.of(cluster)
    client.write("greeting", "after")
    client.write("later", "after")
    restore(cluster, "back", {"backup": "first"}).await_phase("Completed", SECONDS)
    await_whole(cluster)
    client = Reader.of(cluster)
    assert client.read("greeting") == "before"
    with pytest.raises(BaoError, match="404"):
        client.read("later")


def test_an_upgrade_loses_no_write(cluster: Cluster, requests: Requests) -> None:
    done = upgrade_under_load(cluster, requests, OPENBAO, f"{OPENBAO_PREVIOUS} to {OPENBAO}")
    done.assert_nothing_lost()
    # The leader is replaced last.
    assert len(done.history.replaced()) == 3
    assert done.history.replaced()[-1] == done.history.leaders()[0]
    assert {cluster.server(n).health()["version"] for n in range(3)} == {OPENBAO}
    assert cluster.live()["status"]["currentVersion"] == OPENBAO
    assert Reader.of(cluster).read("greeting") == "before"


def test_a_tenant_gets_rights_and_loses_them(
    rig: Rig,
    api: Api,
    launcher: Launcher,
    make_namespace: MakeNamespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("tenants")
    tenant_controller(rig, api, folder)
    who = provisioner_identity(rig, api, folder)
    provisioner = start_provisioner(launcher, who, CONTROLLER)
    namespace = make_namespace()
    make_tenant(api, namespace)
    await_reason(api, namespace, "Provisioned", seconds=SECONDS)
    roles = {str(role["metadata"]["name"]) for role in api.list(ROLE, namespace)}
    assert any(name.startswith("openbao-operator-tenant") for name in roles)
    api.delete(TENANTS, OPERATOR_NAMESPACE, namespace)
    until(
        "the tenant is gone", lambda: not api.find(TENANTS, OPERATOR_NAMESPACE, namespace), SECONDS
    )
    assert api.list(ROLE, namespace) == []
    assert provisioner.stop() == 0


def test_a_datacenter_runs_a_service_and_leaves_no_objects(
    rig: Rig, api: Api, operator_with_datacenters: Operator, make_namespace: MakeNamespace
) -> None:
    datacenter = DatacenterUnderTest(api, f"dc{uuid.uuid4().hex[:6]}", make_namespace())
    datacenter.create(sleeper(rig.load_operator_image(), "agent"))
    datacenter.await_running(SECONDS)
    assert [name for name, _ in datacenter.workloads()] == ["agent"]
    api.delete(DATACENTERS, None, datacenter.name)
    until(
        "the datacenter is gone", lambda: not api.find(DATACENTERS, None, datacenter.name), SECONDS
    )
    assert datacenter.workloads() == []
    assert operator_with_datacenters.alive


def test_deletion_leaves_no_objects(cluster: Cluster) -> None:
    for kind, run in ((RESTORES, "back"), (BACKUPS, "first")):
        # Backup and restore own their Jobs, and outlive the cluster.
        cluster.api.delete(kind, cluster.namespace, run)
    cluster.api.delete(CLUSTERS, cluster.namespace, cluster.name)
    until("the cluster is gone", lambda: cluster.find() is None, SECONDS)
    until("nothing of it is left", lambda: not cluster.belongings(), SECONDS)
