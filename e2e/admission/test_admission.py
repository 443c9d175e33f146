"""The life cycle of hardened-production.yaml with all admission policies installed.

The sample has real services in its placeholders (e2e/samples/hardened.py). The policies reject
writes of other users, and none of the operator or of Kubernetes. The operator has no image: no Job
can run.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from contracts.admission.managed_objects import LOCK_SCALE, MAINTAIN
from contracts.admission.policy import PREFIX
from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness import policies
from e2e.harness.audit import AuditLog, refusals
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.impersonation import ImpersonatingClient, User
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.registry import Registry, registry
from e2e.harness.sealer import Sealer, make_sealer
from e2e.harness.stores import Store
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from e2e.rig.kube import ApiError
from e2e.samples.batch import Sample, apply_samples
from e2e.samples.hardened import NAME, NAMESPACE, SAMPLE, hardened_node, replacements
from runtime.builtin_kinds import (
    CONFIG_MAP,
    POD,
    PVC,
    ROLE_BINDING,
    SERVICE,
    STATEFUL_SET,
)
from runtime.builtin_kinds import NAMESPACE as NAMESPACES
from runtime.types import Resource, uid_of

SERVERS = 3
# The operator checks the policies every ten minutes by default.
RECHECK = {"ADMISSION_RECHECK_SECONDS": "1"}
REPORTED_WITHIN = 40.0
SETTLED_WITHIN = 60.0
ROLL_SECONDS = 120.0
TENANT, ADMIN = User("tina"), User("ada")
# Prefixes of the users of Kubernetes components: none of their requests may be refused.
MAINTAINER = f"{PREFIX}{MAINTAIN.role}"
COMPONENTS = ("system:serviceaccount:kube-system:", "system:kube-", "system:node:")
EVICTION = Resource("", "v1", "Eviction", "pods")


@dataclass(frozen=True, slots=True)
class Scenario:
    """The cluster, and users other than its operator."""

    cluster: Cluster
    tenant: ImpersonatingClient
    admin: ImpersonatingClient


@pytest.fixture(scope="module")
def under_policies(rig: Rig, api: Api) -> Iterator[None]:
    with hardened_node(rig, api):
        yield


@pytest.fixture(scope="module")
def images(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry(rig, tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="module")
def operator(
    launcher: Launcher,
    audit: AuditLog,
    controller: Identity,
    under_policies: None,
    images: Registry,
) -> Iterator[Operator]:
    """An operator that trusts the certificate of the registry.

    Afterwards, no request of it or of Kubernetes was refused.
    """
    mark = audit.mark()
    environment = {"SSL_CERT_FILE": str(images.authority), **RECHECK}
    started = launcher.start(controller, NO_ELECTION, environment=environment)
    yield started
    assert started.alive, started.tail()
    denied = [
        entry
        for entry in refusals(audit.since(mark))
        if entry.user == controller.user or entry.user.startswith(COMPONENTS)
    ]
    assert not denied, "\n".join(f"{entry.user}: {entry}" for entry in denied)


@pytest.fixture(scope="module")
def sealer(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Sealer:
    return make_sealer(api, make_namespace())


@pytest.fixture(scope="module")
def scenario(
    rig: Rig, api: Api, sealer: Sealer, store: Store, images: Registry
) -> Iterator[Scenario]:
    """Three servers of the sample, which are ready for production."""
    store.objects.make_bucket("bao-snapshots")
    sample = Sample(api, SAMPLE, replacements(sealer, store, images))
    with apply_samples([sample]):
        print(f"\n{sample.seconds:.1f} s: the cluster is ready for production")
        for user, role in ((TENANT, "edit"), (ADMIN, "admin"), (ADMIN, MAINTAINER)):
            _bind(api, NAMESPACE, user, role)
        yield Scenario(
            Cluster(api, NAMESPACE, NAME),
            ImpersonatingClient(rig, TENANT),
            ImpersonatingClient(rig, ADMIN),
        )


def _bind(api: Api, namespace: str, user: User, role: str) -> None:
    group = ROLE_BINDING.group
    body = {
        "metadata": {"namespace": namespace, "name": f"{user.name}-{role}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user.name}],
    }
    api.create(ROLE_BINDING, body)


@pytest.mark.timeout(900)
def test_the_hardened_sample_is_ready_for_production(scenario: Scenario) -> None:
    pods = scenario.cluster.ready_pods()
    assert len(pods) == SERVERS
    assert all("@sha256:" in pod["spec"]["containers"][0]["image"] for pod in pods)


def test_scale_out_and_in_by_one_server(scenario: Scenario) -> None:
    _scale(scenario, SERVERS + 1)
    _scale(scenario, SERVERS)


def _scale(scenario: Scenario, servers: int) -> None:
    cluster, change = scenario.cluster, {"spec": {"replicas": servers}}
    scenario.tenant.patch(CLUSTERS, NAMESPACE, NAME, change, subresource="scale")
    until(f"there are {servers} pods", lambda: len(cluster.pods()) == servers, SETTLED_WITHIN)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=SETTLED_WITHIN)
    cluster.await_available()


def test_production_ready_follows_the_policies(rig: Rig, scenario: Scenario) -> None:
    cluster = scenario.cluster
    cluster.await_condition("ProductionReady", reason="ProductionReady", seconds=REPORTED_WITHIN)
    binding = policies.unbind(rig, LOCK_SCALE.full_name())
    condition = cluster.await_condition(
        "ProductionReady", "False", "AdmissionPoliciesMissing", seconds=REPORTED_WITHIN
    )
    assert LOCK_SCALE.name in condition["message"]
    assert "deploy/admission" in condition["message"]
    policies.bind(rig, binding)
    cluster.await_condition("ProductionReady", seconds=REPORTED_WITHIN)


def test_a_refusal_of_other_users_explains_what_to_do(scenario: Scenario) -> None:
    cluster, namespace = scenario.cluster, scenario.cluster.namespace
    config, claim = names.config_map(NAME), names.data_claim(NAME, 0)
    edit = {"data": {"config.hcl": "ui = true"}}
    for user in (scenario.tenant, scenario.admin, ImpersonatingClient(cluster.api.rig)):
        refusal = _refusal(lambda user=user: user.patch(CONFIG_MAP, namespace, config, edit))
        assert f"belongs to OpenBaoCluster {NAME}" in refusal
        assert f"verb {MAINTAIN.name}" in refusal
        assert labels.MAINTENANCE in refusal
    for resource, name in (
        (STATEFUL_SET, NAME),
        (SERVICE, names.public_service(NAME)),
        (PVC, claim),
    ):
        _refusal(lambda kind=resource, name=name: scenario.tenant.delete(kind, namespace, name))
    scale = {"spec": {"replicas": 1}}
    refusal = _refusal(
        lambda: scenario.tenant.patch(STATEFUL_SET, namespace, NAME, scale, subresource="scale")
    )
    assert "scale the OpenBaoCluster instead" in refusal
    annotation = {"metadata": {"annotations": {"example.org/team": "a"}}}
    scenario.tenant.patch(SERVICE, namespace, names.public_service(NAME), annotation)


def _refusal(request: object) -> str:
    assert callable(request)
    with pytest.raises(ApiError) as caught:
        request()
    assert caught.value.code in (403, 422), str(caught.value)
    assert "denied request" in str(caught.value), str(caught.value)
    assert "resulted in error" not in str(caught.value), str(caught.value)
    return str(caught.value)


def test_an_administrator_may_edit_an_object_in_maintenance(scenario: Scenario) -> None:
    """The operator reverts the edit all the same."""
    namespace, name = scenario.cluster.namespace, names.public_service(NAME)
    broken = {"spec": {"selector": {"no": "such"}}}
    _refusal(lambda: scenario.admin.patch(SERVICE, namespace, name, broken))
    before = scenario.cluster.api.get(SERVICE, namespace, name)["spec"]["selector"]
    scenario.admin.patch(SERVICE, namespace, name, _maintenance("true"))
    scenario.admin.patch(SERVICE, namespace, name, broken)

    def is_reverted() -> bool:
        return bool(
            scenario.cluster.api.get(SERVICE, namespace, name)["spec"]["selector"] == before
        )

    until("the operator reverted the edit", is_reverted, 20.0)
    scenario.admin.patch(SERVICE, namespace, name, _maintenance(None))


def _maintenance(value: str | None) -> Object:
    return {"metadata": {"annotations": {labels.MAINTENANCE: value}}}


@pytest.mark.timeout(300)
def test_users_may_evict_and_delete_pods(scenario: Scenario) -> None:
    cluster, namespace = scenario.cluster, scenario.cluster.namespace
    victims = [pod for pod in cluster.pods() if pod != cluster.leader()][:2]
    first, second = (str(pod["metadata"]["name"]) for pod in victims)
    eviction = {"apiVersion": "policy/v1", "metadata": {"name": first, "namespace": namespace}}
    scenario.tenant.create(EVICTION, eviction, subresource="eviction")
    _await_replaced(cluster, victims[0])
    scenario.tenant.delete(POD, namespace, second)
    _await_replaced(cluster, victims[1])
    refusal = _refusal(lambda: scenario.tenant.delete(POD, namespace, first, gracePeriodSeconds=0))
    assert labels.MAINTENANCE in refusal


def _await_replaced(cluster: Cluster, victim: Object) -> None:
    name = victim["metadata"]["name"]

    def is_replaced() -> bool:
        live = cluster.api.find(POD, cluster.namespace, name)
        return live is not None and uid_of(live) != uid_of(victim) and is_ready(live)

    until(f"{name} is replaced and ready", is_replaced, SETTLED_WITHIN)
    cluster.await_available()


@pytest.mark.timeout(300)
def test_a_requested_restart_replaces_all_pods(scenario: Scenario) -> None:
    cluster, namespace = scenario.cluster, scenario.cluster.namespace
    before = cluster.pod_uids()
    change = {"spec": {"runtime": {"restartAt": "now"}}}
    scenario.tenant.patch(CLUSTERS, namespace, NAME, change)

    def all_replaced() -> bool:
        pods = [pod for pod in cluster.pods() if is_ready(pod)]
        return len(pods) == SERVERS and not before & {uid_of(pod) for pod in pods}

    until("all servers are replaced", all_replaced, ROLL_SECONDS)
    cluster.await_available()


@pytest.mark.timeout(300)
def test_b39_a_cluster_and_then_its_namespace_can_be_deleted(scenario: Scenario, api: Api) -> None:
    cluster, namespace = scenario.cluster, scenario.cluster.namespace
    # The sample keeps its volumes.
    scenario.tenant.patch(CLUSTERS, namespace, NAME, {"spec": {"deletionPolicy": "DeleteAll"}})
    watch = Stopwatch()
    scenario.tenant.delete(CLUSTERS, namespace, NAME, propagationPolicy="Foreground")
    until("the cluster is gone", lambda: cluster.find() is None, SETTLED_WITHIN)
    until(
        "all objects of the cluster are deleted", lambda: not cluster.belongings(), SETTLED_WITHIN
    )
    print(f"\n{watch.seconds:.1f} s: the cluster and its objects are gone")
    api.delete(NAMESPACES, None, namespace)
    gone = "the namespace is gone"
    until(gone, lambda: api.find(NAMESPACES, None, namespace) is None, SETTLED_WITHIN)
    print(f"{watch.seconds:.1f} s: the namespace is gone")
