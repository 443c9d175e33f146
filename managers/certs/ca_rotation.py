"""CA rotation with an overlap. Pure.

The Secret of the CA has the only state:

    steady     ca.key signs                                     (upcoming and former are absent)
    prepared   next.key exists, ca.crt holds both, ca.key still signs
    promoted   ca.key is the new one, former.key the old one, ca.crt holds both
    steady     former.* is removed, ca.crt holds one

Each step is one write. A step has two preconditions: every pod serves the certificate of the Secret
that was written after the previous step, so its volume also holds the bundle written with it; and
the overlap is over, in which clients read the new bundle. Until both are met nothing changes, and
all certificates stay valid. docs/adr/20261121-authority-rotation.md. Called by
`managers.certs.plan`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, SecretFacts
from managers.certs.rollout import all_serve
from managers.certs.x509 import BACKDATE, SERVER_LIFE

Action = Literal["prepare", "promote", "drop"]
# A certificate must never expire early because its CA expires.
MARGIN = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RotationStep:
    """The next step of the rotation, and the time of the next check."""

    action: Action | None = None
    due: datetime | None = None
    """When the next step is due by time; None when it is not."""
    progress: str = ""
    """Progress, for a message; "" when no rotation is in progress."""


def next_step(
    resolved: Resolved, observed: Observed, ca: SecretFacts, server: SecretFacts
) -> RotationStep:
    """Return the next step; both Secrets are valid, and the server certificate is the newest."""
    signing, leaf = ca.certificate, server.certificate
    if signing is None or leaf is None:
        return RotationStep()
    if ca.former is not None:
        return _dropping(resolved, observed, ca.former, leaf)
    if ca.upcoming is not None:
        return _promoting(resolved, observed, ca, ca.upcoming, leaf)
    renew_at = signing.not_after - SERVER_LIFE - MARGIN - 2 * resolved.tls.ca_overlap
    requested = resolved.tls.ca_request
    if observed.now >= renew_at or (requested and requested != ca.answered):
        return RotationStep("prepare")
    return RotationStep(due=renew_at)


def is_over(authority: CertificateFacts, now: datetime) -> bool:
    """Return whether the CA has expired."""
    return authority.not_after <= now


def _promoting(
    resolved: Resolved,
    observed: Observed,
    ca: SecretFacts,
    upcoming: CertificateFacts,
    leaf: CertificateFacts,
) -> RotationStep:
    if ca.certificate is not None and is_over(ca.certificate, observed.now):
        return RotationStep("promote")
    since = max(_issued_at(leaf), _issued_at(upcoming))
    progress = f"a new authority (serial {upcoming.serial}) is trusted beside the present one"
    return _once_proven(resolved, observed, leaf, since, RotationStep("promote", progress=progress))


def _dropping(
    resolved: Resolved, observed: Observed, former: CertificateFacts, leaf: CertificateFacts
) -> RotationStep:
    progress = f"the former authority (serial {former.serial}) is still trusted"
    since = (
        _issued_at(leaf)
        if not is_over(former, observed.now)
        else datetime.min.replace(tzinfo=observed.now.tzinfo)
    )
    return _once_proven(resolved, observed, leaf, since, RotationStep("drop", progress=progress))


def _once_proven(
    resolved: Resolved,
    observed: Observed,
    leaf: CertificateFacts,
    since: datetime,
    then: RotationStep,
) -> RotationStep:
    """Hold the step back until every pod serves the leaf, and the overlap since is over."""
    if not all_serve(observed.servers, leaf.fingerprint):
        return RotationStep(
            progress=f"{then.progress}; not every server is known to serve the newest certificate"
        )
    overlap = resolved.tls.ca_overlap
    if observed.now - since < overlap:
        due = since + overlap
        return RotationStep(due=due, progress=f"{then.progress}, until {due.isoformat()} at least")
    return then


def _issued_at(certificate: CertificateFacts) -> datetime:
    return certificate.not_before + BACKDATE
