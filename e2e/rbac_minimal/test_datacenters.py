"""The same for an operator with datacenters: it needs every right of its second ClusterRole.

The datacenter has two services, one per kind that this role adds; the rights for clusters cover
the other kinds.
"""

import uuid
from collections import Counter
from dataclasses import dataclass

import pytest

from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import sleeper
from e2e.harness.audit import AuditLog, Entry, refusals, tally
from e2e.harness.datacenters import (
    CLUSTER_ROLE,
    ON,
    DatacenterUnderTest,
    cleanup_of,
    install_datacenters,
)
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.modes import CLUSTER_ROLE as KIND
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.rights import Permission, examples, permissions_of, unused_rights
from e2e.harness.waiting import Stopwatch, until
from e2e.rbac_minimal.listing import list_every_kind
from e2e.rbac_minimal.mutation import BoundRole, Replay, TokenClient, losses, read_role
from e2e.rig import Rig
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT

# Needed only with the admission plugin OwnerReferencesPermissionEnforcement: tests/integration,
# test_an_owned_object_takes_the_right_on_the_finalizers_of_its_owner.
FINALIZERS = tuple(
    Permission(kind.group, f"{kind.plural}/finalizers", "update")
    for kind in (DATACENTERS, WORKLOADS)
)
LISTED = (DATACENTERS, SERVICE_SETS, WORKLOADS, DAEMON_SET, DEPLOYMENT)


@dataclass(frozen=True, slots=True)
class LifeCycle:
    """The requests of the operator from the creation of a datacenter to its deletion."""

    entries: tuple[Entry, ...]
    role: BoundRole

    @property
    def examples(self) -> dict[Permission, Entry]:
        """Each right of the role that was used, with the first request for it."""
        entries = examples(self.entries)
        return {
            permission: entry
            for rule in self.role.rules
            for permission in permissions_of(rule)
            for need, entry in entries.items()
            if permission.covers(need)
        }


@pytest.fixture(scope="module")
def life_cycle(
    rig: Rig,
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    controller: Identity,
    make_namespace: MakeNamespace,
) -> LifeCycle:
    """Create, change and delete a datacenter."""
    install_datacenters(rig)
    image, home = rig.load_operator_image(), make_namespace()
    mark, watch = audit.mark(), Stopwatch()
    list_every_kind(launcher, audit, controller, LISTED, "run", NO_ELECTION, environment=ON)
    print(f"\n  {watch.seconds:.1f} s: every kind is listed", end="")
    operator = launcher.start(controller, NO_ELECTION, environment=ON)
    datacenter = DatacenterUnderTest(api, f"zrh{uuid.uuid4().hex[:6]}", home)
    front, agent = sleeper(image, "front"), sleeper(image, "agent", kind="DaemonSet")
    try:
        datacenter.create(front, agent)
        datacenter.await_running()
        datacenter.change(bootstrapServices=[{**front, "replicas": 2}, agent])
        until("there are two pods", lambda: len(datacenter.pods("front")) == 2, 30.0)
        datacenter.await_running()
        datacenter.delete()
        datacenter.await_gone()
    finally:
        cleanup_of(api, datacenter)()
    print(f"\n  {watch.seconds:.1f} s: deleted", end="")
    assert operator.stop() == 0, operator.tail()
    role = read_role(api, KIND, None, CLUSTER_ROLE)
    return LifeCycle(tuple(audit.since(mark, controller.user)), role)


@pytest.mark.timeout(300)
def test_every_granted_right_is_used(life_cycle: LifeCycle) -> None:
    rules = life_cycle.role.rules
    count = len({permission for rule in rules for permission in permissions_of(rule)})
    print(f"\n  {count} rights in {len(rules)} rules; requests: {tally(life_cycle.entries)}")
    left = unused_rights(rules, {*examples(life_cycle.entries), *FINALIZERS})
    assert not left, "granted, but never used: " + ", ".join(map(str, left))


def test_no_request_was_refused(life_cycle: LifeCycle) -> None:
    assert [str(entry) for entry in refusals(life_cycle.entries)] == []


@pytest.mark.timeout(200)
def test_each_removed_right_causes_a_refusal(
    api: Api, life_cycle: LifeCycle, controller: Identity
) -> None:
    client, watch = TokenClient(api, controller), Stopwatch()
    replays = {
        permission: Replay(entry.namespace, permission, entry)
        for permission, entry in life_cycle.examples.items()
    }
    results = list(losses(client, life_cycle.role, replays))
    print("\n" + "\n".join(f"  {loss.code}  without {loss.permission}" for loss in results))
    print(f"  {Counter(loss.code for loss in results)}, {watch.seconds:.1f} s")
    granted = {permission for rule in life_cycle.role.rules for permission in permissions_of(rule)}
    assert {loss.permission for loss in results} == granted - set(FINALIZERS)
    left = [loss for loss in results if loss.code != 403]
    assert not left, "removed, but not refused: " + ", ".join(str(loss.permission) for loss in left)
