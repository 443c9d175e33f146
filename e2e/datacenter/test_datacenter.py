"""A datacenter with a vault, a log shipper that depends on it, and an agent from a service set.

A hook of an installed package returns a fourth service, and fails later.
"""

import uuid
from collections.abc import Iterator

import orjson
import pytest

from contracts.api.group import API_VERSION
from contracts.datacenter.kinds import SERVICE_SET_KIND, SERVICE_SETS
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import shipper, sleeper, vault
from e2e.datacenter.hook_package import HOOK, Package
from e2e.harness.audit import tally
from e2e.harness.datacenters import ON, DatacenterUnderTest, cleanup_of, install_datacenters
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.upgrades import Requests
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT, EVENT, POD
from runtime.types import uid_of

QUIET_SECONDS = 20.0
SET = f"agents-{uuid.uuid4().hex[:6]}"


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The image of the operator; the images of the vault are on the node as well."""
    install_datacenters(rig)
    return rig.load_operator_image()


@pytest.fixture(scope="module")
def package(image: str, tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A hook that returns one service."""
    package = Package(tmp_path_factory.mktemp("hooks"))
    package.install()
    package.file.write_bytes(orjson.dumps([sleeper(image, "probe")]))
    return package


@pytest.fixture(scope="module")
def operator_with_datacenters(
    launcher: Launcher, controller: Identity, package: Package
) -> Operator:
    """An operator that manages datacenters, with the hook installed."""
    environment = {**ON, "PYTHONPATH": str(package.folder)}
    return launcher.start(controller, NO_ELECTION, environment=environment)


@pytest.fixture(scope="module")
def datacenter(
    api: Api, make_namespace: MakeNamespace, operator_with_datacenters: Operator, image: str
) -> Iterator[DatacenterUnderTest]:
    """Two services in its spec; a third is from the set, and a fourth from the hook."""
    assert operator_with_datacenters.alive
    datacenter = DatacenterUnderTest(api, f"fra{uuid.uuid4().hex[:6]}", make_namespace())
    api.create(
        SERVICE_SETS,
        {
            "apiVersion": API_VERSION,
            "kind": SERVICE_SET_KIND,
            "metadata": {"name": SET},
            "spec": {
                "selector": {"regions": ["eu-central"], "labels": {"tier": "edge"}},
                "services": [sleeper(image, "agent", replicas=2)],
            },
        },
    )
    datacenter.create(shipper(image), vault(), region="eu-central", labels={"tier": "edge"})
    yield datacenter
    cleanup_of(api, datacenter)()
    with missing_ok():
        api.delete(SERVICE_SETS, None, SET)


@pytest.mark.timeout(300)
def test_services_of_spec_set_and_hook_run(
    datacenter: DatacenterUnderTest, requests: Requests, rig: Rig
) -> None:
    """The shipper is created when the vault is ready, and gets its address and CA."""
    watch = Stopwatch()
    datacenter.await_running(240.0)
    print(f"\n  {watch.seconds:.1f} s: all services run")
    assert [name for name, _ in datacenter.workloads()] == [
        "agent",
        "log-shipper",
        "probe",
        "vault",
    ]
    assert {datacenter.state(name) for name, _ in datacenter.workloads()} == {"Running"}
    assert datacenter.workload("agent")["spec"]["source"]["name"] == f"set/{SET}"
    assert datacenter.workload("probe")["spec"]["source"]["name"] == f"hook/{HOOK}"
    (pod,) = datacenter.pods("log-shipper")
    log = rig.kubectl("-n", datacenter.namespace, "logs", pod["metadata"]["name"], "-c", "main")
    print(log)
    assert "vault: 200" in log
    assert "config: flush 5" in log
    assert datacenter.live()["status"]["summary"] == "4/4"


@pytest.mark.timeout(200)
def test_a_running_datacenter_gets_no_writes(
    datacenter: DatacenterUnderTest, requests: Requests
) -> None:
    requests.await_silence()
    mark = requests.mark()
    throughout("there are no writes", lambda: not requests.writes_since(mark), QUIET_SECONDS)
    print(f"\n  in {QUIET_SECONDS:.0f} s: {tally(requests.since(mark)) or 'nothing'}")


@pytest.mark.timeout(200)
def test_an_edit_is_rolled_out_in_place(
    api: Api, datacenter: DatacenterUnderTest, image: str
) -> None:
    """The same DaemonSet gets new pods; the vault keeps its own."""
    name = datacenter.child("log-shipper")
    before = api.get(DAEMON_SET, datacenter.namespace, name)
    pods, vaults = datacenter.uids("log-shipper"), _servers(api, datacenter)
    watch = Stopwatch()
    datacenter.change(bootstrapServices=[shipper(image, "debug"), vault()])
    until("all pods are replaced", lambda: not pods & datacenter.uids("log-shipper"), 60.0)
    datacenter.await_running()
    print(f"\n  {watch.seconds:.1f} s: rolled out")
    after = api.get(DAEMON_SET, datacenter.namespace, name)
    assert uid_of(after) == uid_of(before)
    assert _servers(api, datacenter) == vaults


@pytest.mark.timeout(200)
def test_a_redeploy_replaces_the_pods_of_one_service(
    api: Api, datacenter: DatacenterUnderTest
) -> None:
    pods, others = datacenter.uids("agent"), datacenter.uids("log-shipper")
    datacenter.change(redeploy=[{"name": "agent", "token": "again-1"}])
    until("the pods are replaced", lambda: not pods & datacenter.uids("agent"), 60.0)
    datacenter.await_running()
    assert datacenter.uids("log-shipper") == others


@pytest.mark.timeout(200)
def test_a_deleted_deployment_is_created_again(api: Api, datacenter: DatacenterUnderTest) -> None:
    name = datacenter.child("agent")
    before = uid_of(api.get(DEPLOYMENT, datacenter.namespace, name))
    api.delete(DEPLOYMENT, datacenter.namespace, name)

    def is_recreated() -> bool:
        deployment = api.find(DEPLOYMENT, datacenter.namespace, name)
        return deployment is not None and uid_of(deployment) != before

    until("the Deployment is created again", is_recreated, 30.0)
    datacenter.await_running()


@pytest.mark.timeout(200)
def test_the_service_of_a_failing_hook_keeps_running(
    datacenter: DatacenterUnderTest, package: Package, image: str
) -> None:
    """A change of the datacenter triggers the hook again; other services are not blocked."""
    good = package.file.read_bytes()
    package.file.write_text("broken")
    before = datacenter.uids("probe")
    datacenter.change(labels={"tier": "edge", "asked": "again"})
    condition = datacenter.await_condition("SourcesReady", "False", "SourceDegraded")
    print(f"\n  {condition['message']}")
    assert "the inventory is away" in condition["message"]
    assert datacenter.state("probe") == "Running"
    assert datacenter.uids("probe") == before
    package.file.write_bytes(good)
    datacenter.change(labels={"tier": "edge"})
    datacenter.await_condition("SourcesReady", "True")


@pytest.mark.timeout(200)
def test_a_service_removed_from_its_set_is_retired(
    api: Api, datacenter: DatacenterUnderTest
) -> None:
    api.patch(SERVICE_SETS, None, SET, {"spec": {"services": []}})
    until("its BootstrapWorkload is gone", lambda: datacenter.state("agent") == "", 60.0)
    assert api.find(DEPLOYMENT, datacenter.namespace, datacenter.child("agent")) is None
    until("its pods are gone", lambda: not datacenter.pods("agent"), 60.0)
    datacenter.await_running()
    assert datacenter.live()["status"]["summary"] == "3/3"


@pytest.mark.timeout(200)
def test_a_datacenter_in_maintenance_is_not_changed(
    datacenter: DatacenterUnderTest, requests: Requests, image: str
) -> None:
    pods = datacenter.uids("log-shipper")
    datacenter.change(state="Maintenance")
    datacenter.change(bootstrapServices=[shipper(image, "warn"), vault()])
    datacenter.await_condition("Ready", "False", "Maintenance")
    throughout("no pod is replaced", lambda: datacenter.uids("log-shipper") == pods, 5.0)
    datacenter.change(state="Active")
    until("all pods are replaced", lambda: not pods & datacenter.uids("log-shipper"), 60.0)
    datacenter.await_running()


@pytest.mark.timeout(300)
def test_deletion_removes_all_objects_in_order(
    api: Api, datacenter: DatacenterUnderTest, rig: Rig, operator_with_datacenters: Operator
) -> None:
    """A service that depends on the vault is deleted before it."""
    watch = Stopwatch()
    datacenter.delete()
    until("the shipper is gone", lambda: datacenter.state("log-shipper") == "", 90.0)
    datacenter.await_gone(120.0)
    print(f"\n  {watch.seconds:.1f} s: gone")
    until("all objects are deleted", lambda: not datacenter.belongings(), 60.0)
    events = [
        event
        for event in api.list(EVENT, "default")
        if event["regarding"]["name"].startswith(datacenter.name)
    ]
    reasons = [(event["regarding"]["name"], event["reason"]) for event in events]
    print("\n".join(f"  {name} {reason}" for name, reason in sorted(reasons)))
    for service in ("agent", "log-shipper", "probe", "vault"):
        assert reasons.count((f"{datacenter.name}.{service}", "Retired")) == 1
    assert reasons.count((datacenter.name, "SourceDegraded")) == 1
    assert not operator_with_datacenters.complaints()


def _servers(api: Api, datacenter: DatacenterUnderTest) -> set[str]:
    pods = api.list(POD, datacenter.namespace, "openbao.org/component=openbaocluster")
    return set(map(uid_of, pods))
