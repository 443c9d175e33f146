"""The same in multi-tenant mode: controller, provisioner and delegate need all their permissions.

Uses informers in the namespace of the tenant; polling needs only a part of their rights.
"""

from dataclasses import dataclass

import pytest

from contracts import tenancy
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES, TENANTS
from contracts.naming.installation import DELEGATE, PROVISIONER
from e2e.conftest import MakeNamespace
from e2e.harness import gateway_api, monitoring
from e2e.harness.audit import AuditLog, Entry, refusals, tally
from e2e.harness.clusters import Cluster
from e2e.harness.installation import NAMESPACE as OPERATOR_NAMESPACE
from e2e.harness.installation import Identity, apply_rights, user_name
from e2e.harness.kubernetes import Api
from e2e.harness.modes import tenant_controller
from e2e.harness.operator import Launcher, Operator
from e2e.harness.rights import (
    Permission,
    Rule,
    examples,
    permissions_of,
    required_permissions,
    unused_rights,
)
from e2e.harness.tenants import await_reason, provisioner_identity, start_provisioner
from e2e.harness.waiting import Stopwatch, until
from e2e.rbac_minimal import life
from e2e.rbac_minimal.listing import list_every_kind
from e2e.rbac_minimal.mutation import CLUSTER_ROLE, read_role
from e2e.rig import Rig
from runtime.builtin_kinds import JOB, LEASE, POD, PVC, ROLE, SERVICE
from runtime.types import Resource

CONTROLLER = "e2e-tenants"
FINALIZERS = tuple(
    Permission(kind.group, f"{kind.plural}/finalizers", "update")
    for kind in (BACKUPS, CLUSTERS, RESTORES)
)
# The operator deletes a Job whose pod has not started for ten minutes: tests/managers/jobs.
AFTER_LONG = Permission(JOB.group, JOB.plural, "delete")
# A job reads and writes its own run; the controller must hold these rights to create its Role.
OF_RUNS = tuple(
    Permission(kind.group, name, verb)
    for kind in (BACKUPS, RESTORES)
    for name, verb in (
        (kind.plural, "get"),
        (f"{kind.plural}/status", "get"),
        (f"{kind.plural}/status", "patch"),
    )
)
TENANT_FINALIZERS = Permission(TENANTS.group, f"{TENANTS.plural}/finalizers", "update")
ACT = Permission("", "serviceaccounts", "impersonate", DELEGATE)
BOUNDS = {"quota": {"hard": {"pods": "20"}}, "limitRange": {"limits": [{"type": "Container"}]}}
READS = {"TENANT_READS": "watch"}
QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
LIMITS = Resource("", "v1", "LimitRange", "limitranges")


@dataclass(frozen=True, slots=True)
class LifeCycle:
    """The granted rules and the requests, by account."""

    rules: dict[str, list[Rule]]
    entries: dict[str, list[Entry]]
    delegable: list[Permission]
    """The rights that the delegate granted, and those of the servers' Role."""


def rules_of(api: Api, *roles: tuple[Resource, str | None, str]) -> list[Rule]:
    return [rule for role in roles for rule in read_role(api, *role).rules]


@pytest.fixture(scope="module")
def life_cycle(
    rig: Rig,
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    make_namespace: MakeNamespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> LifeCycle:
    """One tenant, and the life cycles of two clusters in its namespace."""
    folder, home = tmp_path_factory.mktemp("tenants"), make_namespace()
    provisioner_account = provisioner_identity(rig, api, folder)
    controller_account = tenant_controller(rig, api, folder)
    apply_rights(rig, "tenant-watch")
    gateway_api.install(rig)
    monitoring.install(rig)
    for lease in ("openbao-operator", "openbao-operator-provisioner"):
        api.delete(LEASE, OPERATOR_NAMESPACE, lease)
    mark, watch = audit.mark(), Stopwatch()
    provisioner = start_provisioner_twice(launcher, audit, provisioner_account)
    where = {"name": home, "namespace": OPERATOR_NAMESPACE}
    spec = {"targetNamespace": home, **BOUNDS}
    api.create(TENANTS, {"metadata": where, "spec": spec})
    await_reason(api, home, "Provisioned")
    change_bounds(api, home)
    operator = start_controller_twice(rig, api, launcher, audit, controller_account)
    cluster, other = life.make(api, home)
    cluster.await_available()
    print_step(watch, "one server is Available")
    change_clusters(cluster, other)
    print_step(watch, "all changes are done")
    granted, tenant_rules = grants(api, home)
    life.delete_clusters(cluster, other)
    api.delete(TENANTS, OPERATOR_NAMESPACE, home)
    until("the tenant is deleted", lambda: not api.find(TENANTS, OPERATOR_NAMESPACE, home), 30.0)
    print_step(watch, "clusters and tenant deleted")
    assert operator.stop() == provisioner.stop() == 0
    entries = audit.since(mark)
    gateway_api.uninstall(rig)
    monitoring.uninstall(rig)
    return LifeCycle(granted, {name: of(entries, name) for name in granted}, tenant_rules)


def change_clusters(cluster: Cluster, other: Cluster) -> None:
    """Make all changes to the clusters, except their deletion."""
    life.repair_edits(cluster, other)
    life.restore_labels(cluster, other)
    life.delete_leftovers(cluster)
    life.renew_certificate(cluster)
    life.annotate_and_reload(cluster)
    life.expand_volume(cluster)
    life.restart_pod(cluster)
    life.back_up_and_restore(cluster)
    life.restore_into_new_cluster(cluster)


def grants(api: Api, home: str) -> tuple[dict[str, list[Rule]], list[Permission]]:
    """Return the permissions of each account, and those that are held only to grant them."""
    in_home = [(ROLE, home, name) for name in tenancy.ROLES if api.find(ROLE, home, name)]
    own = f"{CONTROLLER}-openbao-operator"
    granted = {
        CONTROLLER: rules_of(
            api,
            *in_home,
            (CLUSTER_ROLE, None, own),
            (ROLE, OPERATOR_NAMESPACE, f"{own}-own-pod"),
        ),
        PROVISIONER: rules_of(
            api, (CLUSTER_ROLE, None, PROVISIONER), (ROLE, OPERATOR_NAMESPACE, PROVISIONER)
        ),
        DELEGATE: rules_of(
            api, (CLUSTER_ROLE, None, DELEGATE), (CLUSTER_ROLE, None, f"{DELEGATE}-watch")
        ),
    }
    servers = next(
        live for live in api.list(ROLE, home) if live["metadata"]["name"].startswith(life.NAME)
    )
    rules = [*rules_of(api, *in_home), *servers["rules"]]
    return granted, [permission for rule in rules for permission in permissions_of(rule)]


def change_bounds(api: Api, home: str) -> None:
    """Change the quota and the limits of the tenant to the defaults."""
    bounds = {kind: api.list(kind, home)[0]["spec"] for kind in (QUOTA, LIMITS)}
    api.patch(TENANTS, OPERATOR_NAMESPACE, home, {"spec": dict.fromkeys(BOUNDS)})

    def others() -> bool:
        return all(api.list(kind, home)[0]["spec"] != spec for kind, spec in bounds.items())

    until("quota and limits are changed", others, 20.0)


def start_provisioner_twice(
    launcher: Launcher, audit: AuditLog, provisioner_account: Identity
) -> Operator:
    """Start the provisioner twice: with an API server that cannot stream lists, and normally."""
    account = {**READS, "OPERATOR_SERVICE_ACCOUNT_NAME": CONTROLLER}
    kinds = (TENANTS, CLUSTERS)
    list_every_kind(launcher, audit, provisioner_account, kinds, "provision", environment=account)
    provisioner = start_provisioner(launcher, provisioner_account, CONTROLLER, READS, elect=True)
    provisioner.await_leading()
    return provisioner


def start_controller_twice(
    rig: Rig, api: Api, launcher: Launcher, audit: AuditLog, controller_account: Identity
) -> Operator:
    """Start the controller twice: with an API server that cannot stream lists, and normally."""
    address = api.get(SERVICE, "default", "kubernetes")["spec"]["clusterIP"]
    tenants = {**READS, "TENANCY_MODE": "multi-tenant", "KUBERNETES_SERVICE_HOST": address}
    kinds, unnamed = (CLUSTERS, *life.OWNED, POD, PVC), {**tenants, "POD_NAME": "none"}
    list_every_kind(launcher, audit, controller_account, kinds, "run", environment=unnamed)
    environment = {**tenants, "OPERATOR_IMAGE": rig.load_operator_image()}
    operator = launcher.start(controller_account, environment=environment)
    operator.await_leading()
    return operator


def of(entries: list[Entry], account: str) -> list[Entry]:
    """Return the requests with the rights of an account, also by impersonation."""
    user = user_name(account)
    return [entry for entry in entries if (entry.impersonated_user or entry.user) == user]


def print_step(watch: Stopwatch, what: str) -> None:
    print(f"\n  {watch.seconds:.1f} s: {what}", end="")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("account", [CONTROLLER, PROVISIONER, DELEGATE])
def test_every_granted_right_is_used(life_cycle: LifeCycle, account: str) -> None:
    needed = {*examples(life_cycle.entries[account]), *FINALIZERS, TENANT_FINALIZERS}
    if account == PROVISIONER and life_cycle.entries[DELEGATE]:
        needed.add(ACT)
    if account == DELEGATE:
        needed |= set(life_cycle.delegable)
    if account == CONTROLLER:
        needed |= {
            permission
            for permission in life_cycle.delegable
            if permission.resource == "pods" and permission.name
        }
        needed |= {AFTER_LONG, *OF_RUNS}
    granted = life_cycle.rules[account]
    count = len({permission for rule in granted for permission in permissions_of(rule)})
    print(f"\n  {account}: {count} rights; requests: {tally(life_cycle.entries[account])}")
    # Names of Secrets are granted before the Secrets exist, for example of the next keys. The names
    # are tested with contracts.tenancy; here each verb must be used on at least one of them.
    verbs = {need.verb for need in needed if need.resource == "secrets"}
    left = [
        permission
        for permission in unused_rights(granted, needed)
        if permission.resource != "secrets" or permission.verb not in verbs
    ]
    assert not left, "granted, but never used: " + ", ".join(map(str, left))


@pytest.mark.parametrize("account", [CONTROLLER, PROVISIONER, DELEGATE])
def test_no_request_was_refused(life_cycle: LifeCycle, account: str) -> None:
    assert [str(entry) for entry in refusals(life_cycle.entries[account])] == []


def test_the_provisioner_uses_no_right_that_it_grants(life_cycle: LifeCycle) -> None:
    used = {
        permission
        for entry in life_cycle.entries[PROVISIONER]
        for permission in required_permissions(entry)
    }
    inside = {"pods", "secrets", "statefulsets", "configmaps", "roles", "rolebindings"}
    assert not {permission.resource for permission in used} & inside
