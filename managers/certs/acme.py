"""Mode ACME: each server obtains its own certificate; the plan provides its prerequisites. Pure.

Called by `managers.certs.plan`.
"""

from __future__ import annotations

from contracts.builders.rwx_pvc import SHARED_MODE
from contracts.records.desired import Plan
from contracts.records.effects import MakeAcmeCacheClaim
from contracts.records.observed import Observed
from contracts.records.resolved import AcmeVolume, Resolved
from contracts.tls_names import CA_FILE, ISSUER_FILE
from runtime.outcome import Blocked, Done, Wait


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Check the CA Secret of a private ACME server, and plan the shared volume."""
    for step in (_authorities(resolved, observed), _volume(resolved, observed)):
        if step is not None:
            return step
    return Plan(outcome=Done())


def _authorities(resolved: Resolved, observed: Observed) -> Plan | None:
    name = resolved.tls.acme_ca_secret
    if name is None:
        return None
    secret = observed.secrets.get(name)
    if secret is None:
        message = (
            f"Secret {name} (tls.acme.caSecretRef) does not exist: create it with the CA of the "
            f"ACME directory in {CA_FILE} and the CA that signs the certificates in {ISSUER_FILE}"
        )
        return Plan(outcome=Wait("TLSSecretMissing", message), gate=True)
    missing = [file for file in (CA_FILE, ISSUER_FILE) if file not in secret.entries]
    if missing or not secret.trusted:
        problem = f"{' and '.join(missing)} missing" if missing else secret.problem
        message = (
            f"Secret {name} (tls.acme.caSecretRef): {problem}. It requires the CA of the ACME "
            f"directory in {CA_FILE} and the CA that signs the certificates in {ISSUER_FILE}"
        )
        return Plan(outcome=Blocked("TLSSecretInvalid", message), gate=True)
    return None


def _volume(resolved: Resolved, observed: Observed) -> Plan | None:
    volume = resolved.tls.acme_volume
    if volume is None:
        return None
    claim = observed.acme_claim
    if claim is None:
        return _missing(volume)
    if claim.terminating:
        return _invalid(
            f"PersistentVolumeClaim {volume.claim} is being deleted: create another one"
        )
    if volume.managed and claim.owner_uid != resolved.owner.uid:
        return _invalid(
            f"PersistentVolumeClaim {volume.claim} exists and is not owned by this cluster, so it "
            "is not used. Rename or delete it, or set sharedCache.mode ExistingPVC to use it"
        )
    if SHARED_MODE not in claim.access_modes:
        return _invalid(
            f"PersistentVolumeClaim {volume.claim} has the access modes "
            f"{', '.join(claim.access_modes) or 'none'}; servers on different nodes can share it "
            f"only with {SHARED_MODE}"
        )
    return None


def _missing(volume: AcmeVolume) -> Plan:
    if volume.managed:
        message = f"the operator creates PersistentVolumeClaim {volume.claim}"
        outcome = Wait("PrerequisitesMissing", message, 0.0)
        return Plan(effects=(MakeAcmeCacheClaim(volume.claim),), outcome=outcome, gate=True)
    message = (
        f"PersistentVolumeClaim {volume.claim} (tls.acme.sharedCache.existingClaimName) does not "
        "exist: create it"
    )
    return Plan(outcome=Wait("PrerequisitesMissing", message), gate=True)


def _invalid(message: str) -> Plan:
    return Plan(outcome=Blocked("ACMECacheInvalid", message), gate=True)
