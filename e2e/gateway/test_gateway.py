"""A cluster with a Gateway; the Gateway API is absent, installed, used, and removed again."""

from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from contracts.optional_kinds import (
    BACKEND_TLS_POLICY,
    GATEWAY,
    GATEWAY_API,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    TLS_ROUTE,
)
from e2e.conftest import MakeNamespace
from e2e.harness import gateway_api
from e2e.harness.audit import AuditLog, Entry, tally, writes
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.gateway_api import condition
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig import Rig
from e2e.rig.kube import ApiError
from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.optional import DEFINITION
from runtime.types import Object, Resource, resource_version_of, uid_of

NAME, HOST, PUBLIC = "bao", "bao.example.com", "public"
READY = "GatewayIntegrationReady"
HTTP, TLS, POLICY = (kind.resources[0] for kind in (HTTP_ROUTE, TLS_ROUTE, BACKEND_TLS_POLICY))
GATEWAY_OBJECTS: tuple[tuple[Resource, str], ...] = (
    (HTTP, names.http_route(NAME)),
    (POLICY, names.backend_tls_policy(NAME)),
    (CONFIG_MAP, names.gateway_ca_config_map(NAME)),
)
GATEWAY_SPEC = {"enabled": True, "hostname": HOST, "gatewayRef": {"name": PUBLIC}}


@pytest.fixture(scope="module")
def absent(rig: Rig, audit: AuditLog) -> int:
    """The mark of the audit log from which the rig has no Gateway API."""
    gateway_api.uninstall(rig)
    return audit.mark()


@pytest.fixture(scope="module")
def home(
    absent: int, operator: Operator, make_namespace: MakeNamespace, rig: Rig, api: Api
) -> Iterator[str]:
    """A namespace with a cluster that requests a Gateway on a rig without Gateway API."""
    namespace = make_namespace()
    api.create(CLUSTERS, manifest(namespace, NAME, gateway=GATEWAY_SPEC))
    yield namespace
    gateway_api.uninstall(rig, wait=False)


@pytest.fixture(scope="module")
def cluster(api: Api, home: str) -> Cluster:
    return Cluster(api, home, NAME)


def find(api: Api, resource: Resource, namespace: str, name: str) -> Object | None:
    """Read an object; None also if its kind is not installed."""
    try:
        return api.find(resource, namespace, name)
    except ApiError:
        return None


def there(api: Api, namespace: str) -> list[str]:
    """Return the existing Gateway API objects of the cluster."""
    return [name for kind, name in GATEWAY_OBJECTS if find(api, kind, namespace, name)]


def await_objects(api: Api, namespace: str) -> None:
    until("all objects exist", lambda: len(there(api, namespace)) == len(GATEWAY_OBJECTS), 30.0)


def await_none(api: Api, namespace: str) -> None:
    until("no object is left", lambda: not there(api, namespace), 15.0)


def condition_types(cluster: Cluster) -> set[str]:
    return {str(entry["type"]) for entry in cluster.conditions()}


def of_gateway_api(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if f"/apis/{GATEWAY_API}" in entry.uri]


@pytest.mark.timeout(300)
def test_b09_an_absent_api_blocks_nothing_and_gets_no_requests(
    cluster: Cluster, audit: AuditLog, controller: Identity, absent: int
) -> None:
    cluster.await_available()
    missing = cluster.await_condition(READY, "False", "GatewayAPIMissing", seconds=20)
    assert "httproutes.gateway.networking.k8s.io" in missing["message"]
    requests = audit.since(absent, controller.user)
    assert not of_gateway_api(requests)
    reads = [entry for entry in requests if entry.resource == DEFINITION.plural]
    # One watch each; its audit line is written when it ends, after some minutes.
    assert {entry.verb for entry in reads} <= {"watch", "list"}
    budget("absent API: reads of definitions", len(reads), 4, "requests")


@pytest.mark.timeout(300)
def test_an_api_that_is_installed_later_is_used_without_a_restart(
    cluster: Cluster, api: Api, home: str, rig: Rig, audit: AuditLog, controller: Identity
) -> None:
    mark, watch = audit.mark(), Stopwatch()
    gateway_api.install(rig)
    installed = watch.seconds
    await_objects(api, home)
    print(f"\nroute, policy and CA {watch.seconds - installed:.1f} s after the definitions")
    cluster.await_condition(READY, "False", "GatewayReferenceMissing", seconds=15)
    route = api.get(HTTP, home, names.http_route(NAME))
    policy = api.get(POLICY, home, names.backend_tls_policy(NAME))
    (backend,) = route["spec"]["rules"][0]["backendRefs"]
    (target,) = policy["spec"]["targetRefs"]
    assert backend["name"] == target["name"] == names.public_service(NAME)
    authority = api.get(CONFIG_MAP, home, names.gateway_ca_config_map(NAME))
    assert "BEGIN CERTIFICATE" in authority["data"]["ca.crt"]
    print(tally(of_gateway_api(audit.since(mark, controller.user))))


@pytest.mark.timeout(300)
def test_the_condition_follows_the_conditions_of_the_gateway(
    cluster: Cluster, api: Api, home: str, rig: Rig
) -> None:
    gateway_api.make_gateway(api, home, PUBLIC)
    cluster.await_condition(READY, "Unknown", "GatewayClassPending", seconds=25)
    gateway_api.set_conditions(
        rig, GATEWAY_CLASS, None, gateway_api.CLASS, condition("Accepted", "False", "Nope")
    )
    cluster.await_condition(READY, "False", "GatewayClassNotAccepted", seconds=25)
    gateway_api.set_conditions(rig, GATEWAY_CLASS, None, gateway_api.CLASS, condition("Accepted"))
    cluster.await_condition(READY, "Unknown", "GatewayProgrammingPending", seconds=25)
    gateway_api.set_conditions(rig, GATEWAY, home, PUBLIC, condition("Programmed"))
    route = api.get(HTTP, home, names.http_route(NAME))
    (parent,) = route["spec"]["parentRefs"]
    refs = (condition("Accepted"), condition("ResolvedRefs"))
    gateway_api.answer_route(rig, HTTP, home, names.http_route(NAME), parent, *refs)
    cluster.await_condition(READY, "True", READY, seconds=25)
    # From here on the route is watched: its status is seen immediately.
    watch = Stopwatch()
    no = condition("Accepted", "False", "NotAllowedByListeners", "nobody may")
    gateway_api.answer_route(rig, HTTP, home, names.http_route(NAME), parent, no)
    refused = cluster.await_condition(READY, "False", "GatewayRouteRefused", seconds=5)
    print(f"\na refusal of the Gateway is reported after {watch.seconds:.2f} s")
    assert "nobody may" in refused["message"]
    gateway_api.answer_route(rig, HTTP, home, names.http_route(NAME), parent, *refs)
    cluster.await_condition(READY, "True", READY, seconds=5)
    cluster.await_available(10)


@pytest.mark.timeout(200)
def test_unchanged_objects_get_no_writes_and_an_edit_is_reverted(
    home: str, api: Api, audit: AuditLog, controller: Identity
) -> None:
    before = api.get(HTTP, home, names.http_route(NAME))
    mark = audit.mark()
    throughout(
        "nothing is written",
        lambda: not writes(of_gateway_api(audit.since(mark, controller.user))),
        6.0,
        every=0.5,
    )
    api.patch(HTTP, home, names.http_route(NAME), {"spec": {"hostnames": ["evil.example.com"]}})
    until(
        "the host is restored",
        lambda: api.get(HTTP, home, names.http_route(NAME))["spec"] == before["spec"],
        10.0,
    )


@pytest.mark.timeout(200)
def test_passthrough_replaces_the_route_and_needs_no_policy(
    cluster: Cluster, api: Api, home: str
) -> None:
    api.patch(CLUSTERS, home, NAME, {"spec": {"gateway": {"tlsPassthrough": True}}})
    until("a TLSRoute exists", lambda: find(api, TLS, home, names.tls_route(NAME)), 15.0)
    await_none(api, home)
    cluster.await_condition(READY, "Unknown", "GatewayProgrammingPending", seconds=15)
    api.patch(CLUSTERS, home, NAME, {"spec": {"gateway": {"tlsPassthrough": False}}})
    until("an HTTPRoute exists", lambda: find(api, HTTP, home, names.http_route(NAME)), 15.0)
    until("no TLSRoute exists", lambda: find(api, TLS, home, names.tls_route(NAME)) is None, 15.0)


@pytest.mark.timeout(200)
def test_a_route_of_another_owner_is_reported_and_not_changed(
    cluster: Cluster, api: Api, home: str
) -> None:
    api.patch(CLUSTERS, home, NAME, {"spec": {"gateway": {"enabled": False}}})
    await_none(api, home)
    until(
        "the condition is gone",
        lambda: not any(c["type"] == READY for c in cluster.conditions()),
        5,
    )
    metadata = {"name": names.http_route(NAME), "namespace": home}
    theirs = api.create(HTTP, {"metadata": metadata, "spec": {"hostnames": ["a.example.com"]}})
    api.patch(CLUSTERS, home, NAME, {"spec": {"gateway": {"enabled": True}}})
    conflict = cluster.await_condition("Conflict", "True", "ForeignObject", seconds=15)
    assert names.http_route(NAME) in conflict["message"]
    cluster.await_condition("Available", seconds=10)
    live = api.get(HTTP, home, names.http_route(NAME))
    assert resource_version_of(live) == resource_version_of(theirs)
    api.delete(HTTP, home, names.http_route(NAME))

    def ours() -> bool:
        route = find(api, HTTP, home, names.http_route(NAME))
        return route is not None and uid_of(route) != uid_of(theirs)

    until("the route is ours", ours, 75.0)
    cluster.await_condition("Conflict", "False", seconds=75)


@pytest.mark.timeout(300)
def test_a_removed_api_gets_no_requests_and_is_used_when_installed_again(
    cluster: Cluster, api: Api, home: str, rig: Rig, audit: AuditLog, controller: Identity
) -> None:
    gateway_api.uninstall(rig)
    cluster.await_condition(READY, "False", "GatewayAPIMissing", seconds=30)
    cluster.await_available(10)
    mark = audit.mark()
    throughout(
        "it gets no requests",
        lambda: not of_gateway_api(audit.since(mark, controller.user)),
        6.0,
        every=0.5,
    )
    gateway_api.install(rig)
    watch = Stopwatch()
    await_objects(api, home)
    print(f"\nall objects again {watch.seconds:.1f} s after the definitions were accepted")
