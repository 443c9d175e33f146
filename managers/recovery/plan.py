"""What is to be done about recovery keys, and what goes into their Secret. Pure.

The first boot makes the keys (contracts.hcl.self_init); each share is encrypted to the key of its
recipient, and the server keeps a copy. Nothing here ever makes or changes a key.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping

from contracts import names
from contracts.api.cluster import ClusterSpec
from contracts.api.openpgp import NotAKeyError, read_public_key
from contracts.api.recovery import Recipient
from contracts.api.status_login import RecoveryKeysStatus
from managers.bao.models import RecoveryShares

BY_HAND = (
    "An administrator can read them with `bao operator rotate-keys -target=recovery "
    "-backup-retrieve`"
)


def due(spec: ClusterSpec, previous: RecoveryKeysStatus | None) -> bool:
    """Tell whether shares are wanted that were not stored yet."""
    asked = spec.recovery_keys is not None and spec.recovery_keys.initial is not None
    return asked and not (previous is not None and previous.stored)


def stored(nonce: str) -> RecoveryKeysStatus:
    """Say that the shares are in their Secret, for good."""
    return RecoveryKeysStatus(stored=True, nonce=nonce)


def no_login(cluster: str) -> RecoveryKeysStatus:
    """Say that nobody here may fetch the shares."""
    return RecoveryKeysStatus(
        reason="OperatorLoginMissing",
        message=(
            "the operator has no login of its own (spec.selfInit.oidc.enabled), so the shares stay "
            f"in the server and Secret {names.recovery_shares_secret(cluster)} is not made. "
            f"{BY_HAND}"
        ),
    )


def denied(error: str) -> RecoveryKeysStatus:
    """Say that the server does not let the operator fetch the shares."""
    return RecoveryKeysStatus(
        reason="OperatorLoginRefused",
        message=(
            f"{error}. Only a first boot that makes recovery keys gives the operator the right to "
            f"read them. {BY_HAND}, and you can allow `read` on sys/rotate/recovery/backup in the "
            "policy openbao-operator"
        ),
    )


def missing() -> RecoveryKeysStatus:
    """Say that there are no shares to fetch: they are not made a second time."""
    return RecoveryKeysStatus(
        reason="RecoveryKeysMissing",
        message=(
            "the server holds no copy of recovery shares: spec.recoveryKeys.initial was set after "
            "the first boot, or somebody deleted the copy. The operator makes no others. An "
            "administrator can, with `bao operator rotate-keys -target=recovery -init -backup "
            "-pgp-keys=...`"
        ),
    )


def other_content(cluster: str, owner: str) -> RecoveryKeysStatus:
    """Say that the place of the shares is taken."""
    whose = f"belongs to {owner}" if owner else "holds other shares"
    return RecoveryKeysStatus(
        reason="ForeignObject",
        message=(
            f"Secret {names.recovery_shares_secret(cluster)} exists and {whose}: it is never "
            f"overwritten. Save its content, then rename or delete it. {BY_HAND}"
        ),
    )


def secret_data(shares: RecoveryShares, recipients: tuple[Recipient, ...]) -> Mapping[str, bytes]:
    """One OpenPGP message per recipient, by name; by fingerprint where the spec names nobody.

    The server lists shares by the fingerprint of the key that they are encrypted to. Raises
    ValueError when a share is not in base64.
    """
    left = {mark: list(values) for mark, values in shares.keys_base64.items()}
    data: dict[str, bytes] = {}
    for recipient in recipients:
        waiting = left.get(_fingerprint(recipient)) or []
        if waiting:
            data[recipient.name] = _decoded(waiting.pop(0))
    for mark, values in sorted(left.items()):
        for position, value in enumerate(values):
            data[mark if position == 0 else f"{mark}.{position}"] = _decoded(value)
    return data


def _fingerprint(recipient: Recipient) -> str:
    try:
        return read_public_key(recipient.pgp_public_key).fingerprint
    except NotAKeyError:
        # The spec was changed since: its shares go by their fingerprints.
        return ""


def _decoded(value: str) -> bytes:
    return binascii.a2b_base64(value, strict_mode=True)
