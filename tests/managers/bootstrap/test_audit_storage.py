"""managers.bootstrap.audit_storage: no pod starts before the PVC of its audit files exists."""

from dataclasses import replace

import pytest

from contracts.naming import labels
from contracts.records.desired import Plan
from contracts.records.effects import MakeAuditClaim
from contracts.records.observed import NamedPvcFacts
from managers.bootstrap.actions import make_audit_claim
from managers.bootstrap.audit_storage import audit_storage_ready, plan
from managers.bootstrap.server_pod_part import audit_volume
from runtime.builtin_kinds import PVC
from runtime.outcome import Blocked, Done, Wait
from runtime.types import ObjectKey
from tests import gen
from tests.gen.api import Outside

MANAGED = gen.cluster().with_spec(
    auditFileStorage={"mode": "ManagedPVC", "size": "2Gi", "storageClassName": "shared"}
)
EXISTING = gen.cluster().with_spec(
    auditFileStorage={"mode": "ExistingPVC", "existingClaimName": "mine"}
)
OURS = NamedPvcFacts("x-audit", "uid-x", terminating=False, access_modes=("ReadWriteMany",))
USERS = replace(OURS, name="mine", owner_uid="")


def plan_storage(cluster: gen.Cluster, claim: NamedPvcFacts | None) -> Plan:
    observed = replace(gen.world().facts(), audit_claim=claim)
    return plan(gen.resolved(cluster), observed)


def test_without_audit_file_storage_nothing_is_planned() -> None:
    assert plan_storage(gen.cluster(), None) == plan_storage(gen.cluster(), OURS)
    assert plan_storage(gen.cluster(), None).outcome == Done()


ONE_SERVER = EXISTING.with_spec(replicas=1)
USED_ONCE = replace(USERS, access_modes=("ReadWriteOnce",))


@pytest.mark.parametrize(
    ("cluster", "claim"), [(MANAGED, OURS), (EXISTING, USERS), (ONE_SERVER, USED_ONCE)]
)
def test_a_valid_pvc_blocks_nothing(cluster: gen.Cluster, claim: NamedPvcFacts) -> None:
    plan = plan_storage(cluster, claim)
    assert (plan.outcome, plan.gate, plan.effects) == (Done(), False, ())


def test_a_managed_pvc_is_created_before_any_pod() -> None:
    plan = plan_storage(MANAGED, None)
    assert plan.effects == (MakeAuditClaim("x-audit"),)
    assert plan.gate
    assert gen.expect(Wait, plan.outcome).reason == "PrerequisitesMissing"


def test_a_pvc_of_the_user_is_waited_for_and_never_created() -> None:
    plan = plan_storage(EXISTING, None)
    assert plan.effects == ()
    assert plan.gate
    assert isinstance(plan.outcome, Wait)
    assert "spec.auditFileStorage.existingClaimName" in plan.outcome.message
    assert "mine" in plan.outcome.message


@pytest.mark.parametrize(
    ("cluster", "claim", "words"),
    [
        (MANAGED, replace(OURS, owner_uid="another"), "not owned by this cluster"),
        (MANAGED, replace(OURS, owner_uid=""), "not owned by this cluster"),
        (MANAGED, replace(OURS, terminating=True), "being deleted"),
        (EXISTING, USED_ONCE, "ReadWriteOnce"),
        (EXISTING, replace(USERS, access_modes=()), "none"),
    ],
)
def test_an_invalid_pvc_blocks_pods(cluster: gen.Cluster, claim: NamedPvcFacts, words: str) -> None:
    plan = plan_storage(cluster, claim)
    assert plan.gate
    assert plan.effects == ()
    assert isinstance(plan.outcome, Blocked)
    assert plan.outcome.reason == "AuditFileStorageInvalid"
    assert words in plan.outcome.message


@pytest.mark.parametrize(
    ("cluster", "claim", "status", "reason"),
    [
        (MANAGED, OURS, "True", "Ready"),
        (MANAGED, None, "False", "PrerequisitesMissing"),
        (EXISTING, None, "False", "PrerequisitesMissing"),
        (MANAGED, replace(OURS, owner_uid="another"), "False", "AuditFileStorageInvalid"),
    ],
)
def test_condition(
    cluster: gen.Cluster, claim: NamedPvcFacts | None, status: str, reason: str
) -> None:
    volume = gen.present(audit_volume("x", cluster.read().spec.audit_file_storage))
    update = audit_storage_ready(volume, claim, "uid-x", 3)
    assert (update.status, update.reason) == (status, reason)


@pytest.mark.parametrize("storage_class", ["shared", None])
async def test_the_pvc_has_the_owner_annotation_and_no_owner(storage_class: str | None) -> None:
    wish = {"mode": "ManagedPVC", "size": "2Gi", "storageClassName": storage_class}
    resolved = gen.resolved(gen.cluster().with_spec(auditFileStorage=wish))
    outside = Outside()
    for _ in range(2):
        await make_audit_claim(outside.context, resolved, MakeAuditClaim("x-audit"))
    assert outside.api.take_requests() == ["create PersistentVolumeClaim x-audit"] * 2
    live = outside.api.objects[(PVC, ObjectKey(gen.NAMESPACE, "x-audit"))]
    assert "ownerReferences" not in live["metadata"]
    assert live["metadata"]["annotations"] == {labels.OWNER_UID: "uid-x"}
    assert live["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "2Gi"}},
        **({"storageClassName": storage_class} if storage_class else {}),
    }
