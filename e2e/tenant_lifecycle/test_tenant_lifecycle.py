"""The life cycle of tenants: provisioned, refused, extended, repaired, forged, idle, and closed."""

import time
from collections.abc import Iterator

import pytest

from contracts import tenancy
from contracts.api.group import CLUSTERS, TENANTS
from contracts.naming import names
from e2e.harness.audit import refusals, tally, work, writes
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.crashing_provisioner import start_crashing
from e2e.harness.installation import NAMESPACE
from e2e.harness.manifests import cluster as manifest
from e2e.harness.modes import as_in_a_pod
from e2e.harness.operator import NO_ELECTION, Operator
from e2e.harness.tenants import await_reason, make_tenant
from e2e.harness.waiting import Stopwatch, until
from e2e.tenant_lifecycle.conftest import CONTROLLER, World
from runtime.builtin_kinds import NAMESPACE as NAMESPACES
from runtime.builtin_kinds import ROLE

RECHECK = 3.0
GRANT_SECONDS = 2.0
QUIET_SECONDS = 8.0
# The minimum: Roles are written in parallel, and so are bindings.
WRITES_OF_ONE = 5
EXTERNAL = {
    "mode": "External",
    "external": {"serverSecretRef": {"name": "their-server"}, "caSecretRef": {"name": "their-ca"}},
}


@pytest.fixture(scope="class")
def provisioner(world: World) -> Iterator[Operator]:
    """A provisioner that rechecks all tenants within seconds."""
    provisioner = world.start(TENANT_RECHECK_SECONDS=str(RECHECK))
    yield provisioner
    assert provisioner.stop() == 0


@pytest.fixture(scope="class")
def as_shipped(world: World) -> Iterator[Operator]:
    """A provisioner with the default settings."""
    provisioner = world.start()
    yield provisioner
    assert provisioner.stop() == 0


class TestShortRecheck:
    """Scenarios that need frequent rechecks."""

    @pytest.mark.timeout(120)
    def test_a_tenant_gets_access_and_follows_references(
        self, world: World, provisioner: Operator
    ) -> None:
        namespace = world.create_tenant()
        labels = world.api.get(NAMESPACES, None, namespace)["metadata"]["labels"]
        assert labels["pod-security.kubernetes.io/warn"] == "restricted"
        assert world.remaining_objects(namespace) == [
            tenancy.TENANT_ROLE,
            tenancy.TENANT_BINDING,
            tenancy.QUOTA,
            tenancy.LIMITS,
        ]
        watch = Stopwatch()
        world.create_paused(namespace, "one")
        until("access is granted", lambda: world.is_granted(namespace, "one"), 10.0, every=0.02)
        print(f"  {watch.seconds:.2f} s from the cluster to its grant")
        budget("from a cluster to its grant", watch.seconds, GRANT_SECONDS, "s")
        writer = world.rules_of(namespace, tenancy.WRITER_ROLE)
        assert {"one-tls-ca", "one-unseal-key", "one-root-token"} <= writer

        grow_and_shrink(world, namespace)
        drift(world, namespace)
        check_deletion(world, namespace)

    @pytest.mark.timeout(60)
    def test_an_invalid_tenant_is_refused(self, world: World, provisioner: Operator) -> None:
        home, other = world.make_namespace(), world.make_namespace()
        make_tenant(world.api, other, home=home, name="deputy")
        await_reason(world.api, "deputy", "SecurityViolation", home=home)
        make_tenant(world.api, home, home=home, name="own")
        await_reason(world.api, "own", "Provisioned", home=home)
        forged = {"metadata": {"name": tenancy.WRITER_ROLE, "namespace": home}, "rules": []}
        world.api.create(ROLE, forged)
        world.create_paused(home, "x")
        condition = await_reason(world.api, "own", "ForeignObject", home=home)
        assert tenancy.WRITER_ROLE in condition["message"]
        assert world.api.get(ROLE, home, tenancy.WRITER_ROLE).get("rules") in (None, [])
        assert world.remaining_objects(other) == []
        world.api.delete(CLUSTERS, home, "x")

        late = f"{other}-late"
        make_tenant(world.api, late)
        await_reason(world.api, late, "NamespaceNotFound")
        world.api.make_namespace(late)
        await_reason(world.api, late, "Provisioned")
        make_tenant(world.api, late, name=f"{late}-twin")
        await_reason(world.api, f"{late}-twin", "Conflict")
        # A namespace without clusters can be deleted immediately.
        world.api.delete(NAMESPACES, None, late)
        until("the namespace is gone", lambda: not world.api.find(NAMESPACES, None, late), 30.0)
        for name, where in (("own", home), ("deputy", home), (late, NAMESPACE)):
            world.api.delete(TENANTS, where, name)
        world.api.delete(TENANTS, NAMESPACE, f"{late}-twin")
        until("the tenants are gone", lambda: not world.api.list(TENANTS, None), 20.0)


def grow_and_shrink(world: World, namespace: str) -> None:
    """Access follows external certificates, pull secrets, key rotations and deletion."""
    verification = {
        "enabled": True,
        "publicKey": "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"
        "wGwwcVvDHEcZRVqVTjVKFXUzW7Wzp6HmGGx5fjDv7b0HxHjAhLYzGZAFlCGyHLqSEAXvZYy7pCd9M4V1u9cRfA==\n"
        "-----END PUBLIC KEY-----\n",
        "imagePullSecrets": [{"name": "registry"}],
    }
    world.create_paused(namespace, "two", tls=EXTERNAL)
    reader = {"their-server", "their-ca"}
    until(
        "the certificates are readable",
        lambda: reader <= world.rules_of(namespace, tenancy.READER_ROLE),
        10.0,
    )
    world.api.patch(CLUSTERS, namespace, "two", {"spec": {"imageVerification": verification}})
    until(
        "the pull secret is readable",
        lambda: "registry" in world.rules_of(namespace, tenancy.READER_ROLE),
        10.0,
    )
    rotated = {"status": {"unseal": {"keys": "k2=key-2,k1=key", "step": "Spreading"}}}
    world.api.patch_status(CLUSTERS, namespace, "two", rotated)
    later = names.unseal_key_secret("two", 4)
    until(
        "the next key is writable",
        lambda: later in world.rules_of(namespace, tenancy.WRITER_ROLE),
        10.0,
    )
    world.api.delete(CLUSTERS, namespace, "two")
    until(
        "the access is removed",
        lambda: (
            not any(
                name.startswith(("two", "their"))
                for role in (tenancy.READER_ROLE, tenancy.WRITER_ROLE)
                for name in world.rules_of(namespace, role)
            )
        ),
        20.0,
    )


def drift(world: World, namespace: str) -> None:
    """A Role with added permissions is reverted at the next recheck."""
    before = world.api.get(ROLE, namespace, tenancy.TENANT_ROLE)["rules"]
    wide = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    world.api.patch(ROLE, namespace, tenancy.TENANT_ROLE, {"rules": wide})
    until(
        "the Role is repaired",
        lambda: world.api.get(ROLE, namespace, tenancy.TENANT_ROLE)["rules"] == before,
        3 * RECHECK,
    )


def check_deletion(world: World, namespace: str) -> None:
    """Deletion waits for the cluster, reports its name, and leaves no objects."""
    world.api.patch(CLUSTERS, namespace, "one", {"metadata": {"finalizers": ["example.com/hold"]}})
    world.api.delete(TENANTS, NAMESPACE, namespace)
    condition = await_reason(world.api, namespace, "Deleting")
    assert "one" in condition["message"]
    assert condition["status"] == "True"
    world.api.delete(CLUSTERS, namespace, "one")
    world.api.patch(CLUSTERS, namespace, "one", {"metadata": {"finalizers": None}})
    until("the tenant is gone", lambda: not world.api.find(TENANTS, NAMESPACE, namespace), 20.0)
    assert world.remaining_objects(namespace) == []


@pytest.mark.timeout(120)
def test_a_provisioner_continues_after_a_crash_between_any_two_writes(world: World) -> None:
    """Each process makes one write and crashes before the next: all states between are covered."""
    namespace = world.make_namespace()
    make_tenant(world.api, namespace)
    world.create_paused(namespace, "x", tls=EXTERNAL)
    crashing = start_crashing(world.launcher, world.account, CONTROLLER)
    deaths = crashing.await_end(90.0)
    print(f"  {deaths} processes crashed")
    assert deaths >= WRITES_OF_ONE
    assert world.is_granted(namespace, "x")
    mark = world.audit.mark()
    last = world.start()
    await_reason(world.api, namespace, "Provisioned")
    assert world.rules_of(namespace, tenancy.READER_ROLE) >= {"their-server", "their-ca"}
    assert last.stop() == 0
    written = writes(world.audit.since(mark, world.account.user))
    assert not written, tally(written)


class TestAsShipped:
    """Scenarios with the default settings: an idle tenant, and a cluster in a tenant."""

    @pytest.mark.timeout(60)
    def test_an_idle_tenant_costs_no_requests(self, world: World, as_shipped: Operator) -> None:
        namespace = world.create_tenant()
        world.create_paused(namespace, "still")
        until("access is granted", lambda: world.is_granted(namespace, "still"), 10.0)
        time.sleep(1.0)
        mark = world.audit.mark()
        time.sleep(QUIET_SECONDS)
        requests = work(world.audit.since(mark, world.account.user))
        assert not requests, tally(requests)
        assert as_shipped.alive

    @pytest.mark.timeout(150)
    def test_a_cluster_runs_and_is_deleted_with_its_namespace(
        self, world: World, as_shipped: Operator
    ) -> None:
        """The controller needs no other permissions; the namespace is deleted with the cluster."""
        who = world.controller
        environment = {"TENANCY_MODE": "multi-tenant", **as_in_a_pod(world.api)}
        mark = world.audit.mark()
        controller = world.launcher.start(who, NO_ELECTION, environment=environment)
        namespace = world.create_tenant()
        world.api.create(CLUSTERS, manifest(namespace, "served", replicas=1))
        Cluster(world.api, namespace, "served").await_available()
        assert controller.stop() == 0
        controller = world.launcher.start(who, NO_ELECTION, environment=environment)
        world.api.delete(NAMESPACES, None, namespace)
        until(
            "the namespace is gone", lambda: not world.api.find(NAMESPACES, None, namespace), 90.0
        )
        assert not (no := refusals(world.audit.since(mark, who.user))), "\n".join(map(str, no))
        assert as_shipped.alive
        assert controller.stop() == 0
