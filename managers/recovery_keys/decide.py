"""Checks of recovery keys, their status, and the content of their Secret. Pure.

The first boot creates the keys (contracts.hcl.self_init). Each share is encrypted to the PGP key of
its recipient, and the server keeps a copy. The operator never creates or changes a key.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from contracts.api.cluster.recovery import Recipient
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.cluster.status_login import RecoveryKeysStatus
from contracts.api.rules.recovery import initial_keys
from contracts.api.values.openpgp import (
    EncryptionKey,
    NotAKeyError,
    PublicKey,
    read_fingerprint,
    read_public_key,
)
from contracts.api.violation import Explanation, Violation
from contracts.naming import names
from runtime.memo import memoize
from runtime.outcome import Blocked

MANUAL_READ = (
    "An administrator can read them with `bao operator rotate-keys -target=recovery "
    "-backup-retrieve`"
)

FIRST_BOOT = timedelta(hours=1)
"""Time for which a PGP key has to stay valid: nodes pull an image, and volumes are created."""
RECHECK_MAX = timedelta(hours=1)
_VALIDITY_RULE = (
    "must be valid now and for the next hour: the first boot encrypts a share to it, and cannot be "
    "repeated; extend it (`gpg --quick-set-expire <fingerprint> 1y '*'` for subkeys, without '*' "
    "for the key) and export it again, or set another key"
)


def check_recovery_keys(cluster: OpenBaoCluster, now: datetime) -> Blocked | None:
    """Block the first boot if a PGP key of a recipient is not valid until its end.

    The rules of the API check the keys (contracts.api.values.openpgp), but cannot check times.
    """
    begin, end = int(now.timestamp()), int((now + FIRST_BOOT).timestamp())
    violations: list[Violation] = []
    starts: list[int] = []
    for field, key in _recipients(cluster):
        if any(_covers(part, begin, end) for part in key.parts):
            continue
        violations.append(Violation(field, _why(key, begin), "recovery-key-time", _VALIDITY_RULE))
        starts += [part.since - begin for part in key.parts if part.since > begin]
    if not violations:
        return None
    # A key that is not valid yet, perhaps because of a wrong clock, becomes valid without action.
    recheck = min(RECHECK_MAX.total_seconds(), *starts) if starts else None
    return Blocked("InvalidSpec", "; ".join(map(str, violations)), recheck)


@memoize
def _recipients(cluster: OpenBaoCluster) -> tuple[tuple[str, PublicKey], ...]:
    """Read the PGP keys, each with its field; once per version of an object."""
    initial = initial_keys(cluster)
    if initial is None:
        return ()
    keys: list[tuple[str, PublicKey]] = []
    for position, recipient in enumerate(initial.recipients):
        field = f"spec.recoveryKeys.initial.recipients[{position}].pgpPublicKey"
        try:
            keys.append((field, read_public_key(recipient.pgp_public_key)))
        except NotAKeyError:
            # The rule recovery-key rejects it.
            continue
    return tuple(keys)


def _covers(part: EncryptionKey, begin: int, end: int) -> bool:
    return part.since <= begin and (part.until is None or end <= part.until)


def _why(key: PublicKey, now: int) -> Explanation:
    """Return the problem of the subkey that is valid for the longest time."""
    part = max(key.parts, key=lambda part: (part.until is None, part.until or 0))
    if part.since > now:
        return Explanation(f"{part.name} is valid from {_timestamp(part.since)}")
    return Explanation(f"{part.name} expires at {_timestamp(part.until or 0)}")


def _timestamp(seconds: int) -> str:
    # The sum of creation and lifetime, with 32 bits each, is before the year 2250.
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def needs_shares(spec: ClusterSpec, previous: RecoveryKeysStatus | None) -> bool:
    """Return whether the spec requests shares that are not stored yet."""
    requested = spec.recovery_keys is not None and spec.recovery_keys.initial is not None
    return requested and not (previous is not None and previous.stored)


def stored_status(nonce: str) -> RecoveryKeysStatus:
    """Return the status: the shares are in their Secret."""
    return RecoveryKeysStatus(stored=True, nonce=nonce)


def no_login_status(cluster: str) -> RecoveryKeysStatus:
    """Return the status: the operator has no login to read the shares."""
    return RecoveryKeysStatus(
        reason="OperatorLoginMissing",
        message=(
            "the operator has no login (spec.selfInit.oidc.enabled), so it does not copy the "
            f"shares from the server to Secret {names.recovery_shares_secret(cluster)}. "
            f"{MANUAL_READ}"
        ),
    )


def denied_status(error: str) -> RecoveryKeysStatus:
    """Return the status: the server denies the read of the shares."""
    return RecoveryKeysStatus(
        reason="OperatorLoginRefused",
        message=(
            f"{error}. Only a first boot with recovery keys gives the operator the right to read "
            f"them. {MANUAL_READ}, or allow `read` on sys/rotate/recovery/backup in the policy "
            "openbao-operator"
        ),
    )


def missing_status() -> RecoveryKeysStatus:
    """Return the status: the server has no shares; they are not created again."""
    return RecoveryKeysStatus(
        reason="RecoveryKeysMissing",
        message=(
            "the server has no copy of the recovery shares: spec.recoveryKeys.initial was set "
            "after the first boot, or a user deleted the copy. The operator does not create new "
            "ones. As an administrator, run `bao operator rotate-keys -target=recovery -init "
            "-backup -pgp-keys=...`"
        ),
    )


def foreign_secret_status(cluster: str, owner: str) -> RecoveryKeysStatus:
    """Return the status: a Secret of that name exists with another owner or content."""
    state = f"belongs to {owner}" if owner else "holds other shares"
    return RecoveryKeysStatus(
        reason="ForeignObject",
        message=(
            f"Secret {names.recovery_shares_secret(cluster)} exists and {state}: the operator does "
            f"not overwrite it. Save its content, then delete it. {MANUAL_READ}"
        ),
    )


def secret_data(
    shares: Mapping[str, Sequence[str]], recipients: tuple[Recipient, ...]
) -> Mapping[str, bytes]:
    """Return one OpenPGP message per recipient, by name; other shares by fingerprint.

    `shares` are in base64, by the fingerprint of the key that encrypts them. Raises ValueError if a
    share is not base64.
    """
    remaining = {fingerprint: list(values) for fingerprint, values in shares.items()}
    data: dict[str, bytes] = {}
    for recipient in recipients:
        own_shares = remaining.get(read_fingerprint(recipient.pgp_public_key)) or []
        if own_shares:
            data[recipient.name] = _decode(own_shares.pop(0))
    for fingerprint, values in sorted(remaining.items()):
        for position, value in enumerate(values):
            data[fingerprint if position == 0 else f"{fingerprint}.{position}"] = _decode(value)
    return data


def _decode(value: str) -> bytes:
    return binascii.a2b_base64(value, strict_mode=True)
