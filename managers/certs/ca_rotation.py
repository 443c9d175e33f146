"""CA rotation with an overlap. Pure.

The state is stored only in the Secret of the CA:

    steady     ca.key signs                                     (next.* and former.* are absent)
    prepared   next.key exists, ca.crt contains both CAs, ca.key still signs
    promoted   ca.key is the new key, former.key the old one, ca.crt contains both CAs
    steady     former.* is removed, ca.crt contains one CA

Each step is one write and has two preconditions:

- Every pod serves the certificate that was issued after the previous step, so its volume also has
  the bundle of that step.
- The overlap, in which clients read the new bundle, has ended.

Until then nothing changes, and all certificates stay valid. Design:
docs/adr/20261121-authority-rotation.md. Called by `managers.certs.plan`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, SecretFacts
from managers.certs.key_pair import BACKDATE, SERVER_LIFE
from managers.certs.rollout import all_serve

Action = Literal["prepare", "promote", "drop"]
# Safety margin: a server certificate must not expire early because its CA expires.
MARGIN = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RotationStep:
    """The next step of the rotation, and the time of the next check."""

    action: Action | None = None
    due: datetime | None = None
    """When the next step is due; None if it does not depend on the time."""
    progress: str = ""
    """The progress, for a message; "" if no rotation is in progress."""


def next_step(
    resolved: Resolved, observed: Observed, ca: SecretFacts, server: SecretFacts
) -> RotationStep:
    """Return the next step. Both Secrets must be valid, and the server certificate current."""
    ca_certificate, leaf = ca.certificate, server.certificate
    if ca_certificate is None or leaf is None:
        return RotationStep()
    if ca.former is not None:
        return _drop_step(resolved, observed, ca.former, leaf)
    if ca.upcoming is not None:
        return _promote_step(resolved, observed, ca, ca.upcoming, leaf)
    renew_at = ca_certificate.not_after - SERVER_LIFE - MARGIN - 2 * resolved.tls.ca_overlap
    request = resolved.tls.ca_request
    if observed.now >= renew_at or (request and request != ca.handled_ca_request):
        return RotationStep("prepare")
    return RotationStep(due=renew_at)


def has_expired(authority: CertificateFacts, now: datetime) -> bool:
    """Return whether the CA has expired."""
    return authority.not_after <= now


def _promote_step(
    resolved: Resolved,
    observed: Observed,
    ca: SecretFacts,
    upcoming: CertificateFacts,
    leaf: CertificateFacts,
) -> RotationStep:
    if ca.certificate is not None and has_expired(ca.certificate, observed.now):
        return RotationStep("promote")
    since = max(_issued_at(leaf), _issued_at(upcoming))
    progress = f"a new CA (serial {upcoming.serial}) is trusted in addition to the current one"
    step = RotationStep("promote", progress=progress)
    return _after_rollout(resolved, observed, leaf, since, step)


def _drop_step(
    resolved: Resolved, observed: Observed, former: CertificateFacts, leaf: CertificateFacts
) -> RotationStep:
    progress = f"the former CA (serial {former.serial}) is still trusted"
    since = (
        _issued_at(leaf)
        if not has_expired(former, observed.now)
        else datetime.min.replace(tzinfo=observed.now.tzinfo)
    )
    step = RotationStep("drop", progress=progress)
    return _after_rollout(resolved, observed, leaf, since, step)


def _after_rollout(
    resolved: Resolved,
    observed: Observed,
    leaf: CertificateFacts,
    since: datetime,
    step: RotationStep,
) -> RotationStep:
    """Return the step if every pod serves the leaf, and the overlap after `since` has ended."""
    if not all_serve(observed.servers, leaf.fingerprint):
        return RotationStep(
            progress=f"{step.progress}; not all servers are known to serve the new certificate"
        )
    overlap = resolved.tls.ca_overlap
    if observed.now - since < overlap:
        due = since + overlap
        return RotationStep(due=due, progress=f"{step.progress}, at least until {due.isoformat()}")
    return step


def _issued_at(certificate: CertificateFacts) -> datetime:
    return certificate.not_before + BACKDATE
