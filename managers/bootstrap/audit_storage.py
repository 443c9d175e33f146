"""The volume that servers share for the files of audit devices. Pure.

`managers.bootstrap.actions` creates the PVC. No pod starts before it exists: a server that cannot
open its audit file rejects every request.
"""

from __future__ import annotations

from contracts.builders.rwx_pvc import SHARED_MODE
from contracts.conditions.condition import ConditionUpdate
from contracts.records.desired import Plan
from contracts.records.effects import MakeAuditClaim
from contracts.records.observed import NamedPvcFacts, Observed
from contracts.records.resolved import AuditVolume, Resolved
from runtime.outcome import Blocked, Done, Wait

_FIELD = "spec.auditFileStorage"


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Plan the PVC, and block the pods while it cannot be used."""
    volume, claim = resolved.audit_volume, observed.audit_claim
    if volume is None:
        return Plan(outcome=Done())
    if claim is None and volume.managed:
        outcome = Wait("PrerequisitesMissing", _create_message(volume), 0.0)
        return Plan(effects=(MakeAuditClaim(volume.claim),), outcome=outcome, gate=True)
    if claim is None:
        return Plan(outcome=Wait("PrerequisitesMissing", _missing_message(volume)), gate=True)
    problem = problem_of(volume, claim, resolved.owner.uid, resolved.servers)
    if problem:
        return Plan(outcome=Blocked("AuditFileStorageInvalid", problem), gate=True)
    return Plan(outcome=Done())


def _create_message(volume: AuditVolume) -> str:
    return f"the operator creates PersistentVolumeClaim {volume.claim}"


def _missing_message(volume: AuditVolume) -> str:
    return (
        f"{_FIELD}.existingClaimName: PersistentVolumeClaim {volume.claim} does not exist: create "
        f"it ({SHARED_MODE}), or use mode ManagedPVC"
    )


def problem_of(volume: AuditVolume, claim: NamedPvcFacts, owner_uid: str, replicas: int) -> str:
    """Return why a PVC cannot be used, and what to do; "" if it can be used."""
    if claim.terminating:
        return (
            f"PersistentVolumeClaim {volume.claim} is being deleted: wait until it is deleted, or "
            "use another one"
        )
    if volume.managed and claim.owner_uid != owner_uid:
        return (
            f"PersistentVolumeClaim {volume.claim} exists and is not owned by this cluster, so it "
            f"is not used. Rename or delete it, or set {_FIELD}.mode ExistingPVC to use it"
        )
    if replicas > 1 and SHARED_MODE not in claim.access_modes:
        return (
            f"PersistentVolumeClaim {volume.claim} has the access modes "
            f"{', '.join(claim.access_modes) or 'none'}: several servers can share it only with "
            f"{SHARED_MODE}. Use another PersistentVolumeClaim, or audit devices without a file"
        )
    return ""


def audit_storage_ready(
    volume: AuditVolume, claim: NamedPvcFacts | None, owner_uid: str, replicas: int
) -> ConditionUpdate:
    """Condition AuditFileStorageReady."""
    kind = "AuditFileStorageReady"
    if claim is None:
        message = _create_message(volume) if volume.managed else _missing_message(volume)
        return ConditionUpdate(kind, "False", "PrerequisitesMissing", message)
    problem = problem_of(volume, claim, owner_uid, replicas)
    if problem:
        return ConditionUpdate(kind, "False", "AuditFileStorageInvalid", problem)
    return ConditionUpdate(kind, "True", "Ready", f"PersistentVolumeClaim {volume.claim} is used")
