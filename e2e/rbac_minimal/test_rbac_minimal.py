"""The operator has exactly the permissions that it needs, and no privileged pod.

every right is used         the audit log has a request for each granted right
every right is needed       C16: without the right, the same request is refused
no request is refused       no response 403 in a whole run
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import orjson
import pytest
import yaml

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness import gateway_api, monitoring
from e2e.harness.audit import AuditLog, Entry, refusals, tally
from e2e.harness.clusters import Cluster
from e2e.harness.installation import LEASE_ROLE, TOKEN_ROLE, Identity
from e2e.harness.installation import NAMESPACE as OPERATOR_NAMESPACE
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Launcher
from e2e.harness.rights import Permission, examples, permissions_of, unused_rights
from e2e.harness.waiting import Stopwatch
from e2e.rbac_minimal import life
from e2e.rbac_minimal.listing import list_every_kind
from e2e.rbac_minimal.mutation import (
    BoundRole,
    Loss,
    Replay,
    TokenClient,
    losses,
    roles_of_controller,
)
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from managers.jobs.status import Rights, rights_objects
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import JOB, LEASE, NAMESPACE, POD, PVC, ROLE
from runtime.cache.optional import DEFINITION

DEPLOY = REPOSITORY / "deploy"
# Needed only with the admission plugin OwnerReferencesPermissionEnforcement: tests/integration,
# test_an_owned_object_takes_the_right_on_the_finalizers_of_its_owner.
FINALIZERS = tuple(
    Permission(kind.group, f"{kind.plural}/finalizers", "update")
    for kind in (BACKUPS, CLUSTERS, RESTORES)
)
# The operator deletes a Job whose pod has not started for ten minutes: tests/managers/jobs.
AFTER_LONG = Permission(JOB.group, JOB.plural, "delete")


@dataclass(frozen=True, slots=True)
class LifeCycle:
    """The requests in the life cycles of the clusters, of the operator and of all users."""

    entries: tuple[Entry, ...]
    everybody: tuple[Entry, ...]
    role: Object
    """The Role of the servers of one cluster."""

    @property
    def home(self) -> str:
        """The namespace of the clusters."""
        return str(self.role["metadata"]["namespace"])

    @property
    def delegated(self) -> tuple[Permission, ...]:
        """Permissions that are held only to grant them (escalation prevention)."""
        rules = (*self.role["rules"], *(rule for run in self.job_roles() for rule in run["rules"]))
        return tuple(permission for rule in rules for permission in permissions_of(rule))

    def job_roles(self) -> Iterator[Object]:
        """Yield the Roles of backup and restore Jobs, as created in this namespace."""
        for kind, account in ((BACKUPS, "backup"), (RESTORES, "restore")):
            run = Owner(kind.api_version, kind.kind, self.home, "run", "uid")
            rights = Rights(life.NAME, "run", f"{life.NAME}-{account}-serviceaccount", kind)
            yield dict(rights_objects(run, rights)[0].body)


@pytest.fixture(scope="module")
def roles(rig: Rig, api: Api) -> list[BoundRole]:
    """The granted rights; depends on the rig, which applies them."""
    return roles_of_controller(api, LEASE_ROLE, TOKEN_ROLE)


@pytest.fixture(scope="module")
def home(rig: Rig, api: Api, make_namespace: MakeNamespace) -> Iterator[str]:
    """A namespace that audits insecure pods, on a rig with all optional kinds."""
    namespace = make_namespace()
    level = {"pod-security.kubernetes.io/audit": "restricted"}
    api.patch(NAMESPACE, None, namespace, {"metadata": {"labels": level}})
    gateway_api.install(rig)
    monitoring.install(rig)
    yield namespace
    gateway_api.uninstall(rig)
    monitoring.uninstall(rig)


@pytest.fixture(scope="module")
def life_cycle(
    rig: Rig, api: Api, audit: AuditLog, launcher: Launcher, controller: Identity, home: str
) -> LifeCycle:
    """Two clusters, from creation to deletion, with one operator that is elected."""
    # A rig that was kept has the Lease of its last run.
    api.delete(LEASE, OPERATOR_NAMESPACE, "openbao-operator")
    image = rig.load_operator_image()
    mark, watch = audit.mark(), Stopwatch()
    kinds = (DEFINITION, CLUSTERS, *life.OWNED, POD, PVC)
    list_every_kind(launcher, audit, controller, kinds, "run")
    _print_step(watch, "every kind is listed")
    operator = launcher.start(controller, environment={"OPERATOR_IMAGE": image})
    operator.await_leading()
    cluster, other = life.make(api, home)
    cluster.await_available()
    role = api.get(ROLE, home, names.role(names.service_account(life.NAME)))
    _print_step(watch, "one server is Available")
    _change_clusters(cluster, other, watch)
    assert operator.stop() == 0, operator.tail()
    entries = tuple(audit.since(mark))
    mine = tuple(entry for entry in entries if entry.user == controller.user)
    return LifeCycle(mine, entries, role)


def _change_clusters(cluster: Cluster, other: Cluster, watch: Stopwatch) -> None:
    life.repair_edits(cluster, other)
    _print_step(watch, "every edit is reverted")
    life.restore_labels(cluster, other)
    _print_step(watch, "every label is restored")
    life.delete_leftovers(cluster)
    _print_step(watch, "the leftover objects are deleted")
    life.renew_certificate(cluster)
    life.annotate_and_reload(cluster)
    _print_step(watch, "certificate renewed, pod annotated and reloaded")
    life.expand_volume(cluster)
    life.restart_pod(cluster)
    _print_step(watch, "volume expanded, pod restarted")
    life.back_up_and_restore(cluster)
    _print_step(watch, "snapshot taken and restored")
    life.restore_into_new_cluster(cluster)
    _print_step(watch, "snapshot restored into a new cluster")
    life.delete_clusters(cluster, other)
    _print_step(watch, "clusters deleted")


def _print_step(watch: Stopwatch, what: str) -> None:
    print(f"\n  {watch.seconds:.1f} s: {what}", end="")


@pytest.mark.timeout(600)
def test_every_granted_right_is_used(life_cycle: LifeCycle, roles: list[BoundRole]) -> None:
    needed = {*examples(life_cycle.entries), *life_cycle.delegated, *FINALIZERS, AFTER_LONG}
    granted = [rule for role in roles for rule in role.rules]
    count = len({permission for rule in granted for permission in permissions_of(rule)})
    print(f"\n  {count} rights in {len(granted)} rules; requests: {tally(life_cycle.entries)}")
    left = unused_rights(granted, needed)
    assert not left, "granted, but never used: " + ", ".join(map(str, left))


def test_no_request_was_refused(life_cycle: LifeCycle) -> None:
    assert [str(entry) for entry in refusals(life_cycle.entries)] == []


def test_every_pod_complies_with_the_level_restricted(life_cycle: LifeCycle) -> None:
    pods = [
        entry
        for entry in life_cycle.everybody
        if entry.resource == POD.plural and entry.namespace == life_cycle.home
    ]
    assert [entry for entry in pods if entry.verb == "create" and entry.code == 201]
    assert [entry.violation for entry in life_cycle.everybody if entry.violation] == []
    assert [str(entry) for entry in pods if entry.code == 403] == []


@pytest.mark.parametrize("folder", ["base", "provisioner"])
def test_the_shipped_deployments_comply_with_the_level_restricted(
    rig: Rig, home: str, folder: str
) -> None:
    shipped = yaml.safe_load_all(rig.kubectl("kustomize", str(DEPLOY / folder)))
    pods = [obj["spec"]["template"] for obj in shipped if obj["kind"] == "Deployment"]
    assert pods
    for pod in pods:
        # Its ServiceAccount does not exist here, and does not matter for the level.
        spec = {key: value for key, value in pod["spec"].items() if key != "serviceAccountName"}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shipped"}, "spec": spec}
        text = orjson.dumps(body).decode()
        rig.kubectl("-n", home, "create", "--dry-run=server", "-f", "-", input=text)


@pytest.mark.timeout(300)
def test_c16_each_removed_right_causes_a_refusal(
    api: Api, life_cycle: LifeCycle, roles: list[BoundRole], controller: Identity
) -> None:
    client, watch = TokenClient(api, controller), Stopwatch()
    results: list[Loss] = []
    for role in roles:
        replays = {
            permission: replay_of(permission, life_cycle)
            for rule in role.rules
            for permission in permissions_of(rule)
            if permission not in (*FINALIZERS, AFTER_LONG)
        }
        results += losses(client, role, replays)
    print(f"\n{_table(results)}\n  {len(results)} rights removed, {watch.seconds:.1f} s")
    left = [loss for loss in results if loss.code != 403]
    assert not left, "removed, but not refused: " + ", ".join(str(loss.permission) for loss in left)


def replay_of(permission: Permission, life_cycle: LifeCycle) -> Replay:
    """Return the request to send with the operator's token after a right was removed."""
    entries = {
        need: entry
        for need, entry in examples(life_cycle.entries).items()
        if permission.covers(need)
    }
    for need, entry in entries.items():
        return Replay(entry.namespace, need, entry)
    # Held only to grant it: without it the operator cannot create one of the Roles.
    held = (life_cycle.role, *life_cycle.job_roles())
    template = next(role for role in held if any(permission.covers(it) for it in _all(role)))
    return Replay(life_cycle.home, permission, None, (ROLE.path(life_cycle.home), _fresh(template)))


def _all(role: Object) -> list[Permission]:
    return [permission for rule in role["rules"] for permission in permissions_of(rule)]


def _fresh(live: Object) -> Object:
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    metadata = {key: value for key, value in live["metadata"].items() if key in kept}
    return {**live, "metadata": metadata}


def _table(losses: list[Loss]) -> str:
    counted = Counter((loss.role, loss.code) for loss in losses)
    rows = [f"  {loss.code}  {loss.role}: without {loss.permission}" for loss in losses]
    return "\n".join([*rows, *(f"  {role}: {n} x {code}" for (role, code), n in counted.items())])
