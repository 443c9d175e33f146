"""Plan of the images: the verdicts about the images determine whether pods may start. Pure.

If an image is unverified and the policy is Block, the step is a gate: no pod is created, changed or
replaced. Running pods continue, and the operator still reconciles the rest of the cluster.
"""

from __future__ import annotations

from contracts import image_reference
from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.cluster.spec import ClusterSpec
from contracts.naming import labels
from contracts.records.desired import Plan
from contracts.records.observed import ImageVerdict, Observed
from contracts.records.resolved import ImageChoice, Resolved
from contracts.server_features import offers
from managers.context.installation import Installation
from managers.images.policy import server_image
from runtime.outcome import Blocked, Done, Outcome, Wait

UNAVAILABLE = "ImageRegistryUnavailable"
FAILED = "ImageVerificationFailed"
_FIRST_RECHECK = 1.0


def images_of(spec: ClusterSpec, installation: Installation, observed: Observed) -> ImageChoice:
    """Choose the references for the pods: verified images by their verified digest."""
    reference = server_image(spec, installation.image_repository)
    policy = spec.image_verification
    verdict = observed.images.get(reference)
    enabled = policy is not None and policy.enabled
    records = {}
    if enabled and verdict is not None and verdict.record:
        records[labels.IMAGE_VERIFICATION] = verdict.record
    reload_image = "" if offers(spec.version, "crash-on-reload") else installation.operator_image
    operator_image = _operator_image(spec.operator_image_verification, reload_image, observed)
    if operator_image != installation.operator_image and operator_image:
        record = observed.images[installation.operator_image].record
        records[labels.OPERATOR_IMAGE_VERIFICATION] = record
    return ImageChoice(
        server=verdict.pinned if enabled and verdict and verdict.pinned else reference,
        operator_image=operator_image,
        outcome=_image_outcome(policy, reference, verdict) if policy and enabled else Done(),
        records=tuple(sorted(records.items())),
    )


def _image_outcome(
    policy: ImageVerification, reference: str, verdict: ImageVerdict | None
) -> Outcome:
    """Return the outcome of the verification of an image."""
    if verdict is not None and verdict.pinned:
        return Done()
    if policy.failure_policy == "Warn":
        return Done(verdict.retry_after if verdict else None)
    if verdict is None:
        return Wait(UNAVAILABLE, f"image {reference} has not been verified yet", _FIRST_RECHECK)
    if verdict.problem == "unreachable":
        return Wait(UNAVAILABLE, verdict.message, verdict.retry_after)
    return Blocked(FAILED, verdict.message, verdict.retry_after)


def _operator_image(policy: ImageVerification | None, reference: str, observed: Observed) -> str:
    """Return the operator's image for server pods; "" when it may not be used."""
    if not reference or policy is None or not policy.enabled:
        return reference
    verdict = observed.images.get(reference)
    if verdict is not None and verdict.pinned:
        return verdict.pinned
    return reference if policy.failure_policy == "Warn" else ""


def version_mismatch(spec: ClusterSpec) -> Blocked | None:
    """Compare the tag of spec.image with spec.version; None when they match."""
    message = image_reference.mismatch(spec.image, spec.version)
    return Blocked("ImageVersionMismatch", message) if message else None


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Gate the pods until their image is verified."""
    outcome = resolved.images.outcome
    return Plan(outcome=outcome, gate=not isinstance(outcome, Done))
