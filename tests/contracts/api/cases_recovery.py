"""What the rules about spec.recoveryKeys refuse."""

from typing import Any

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request
from tests.contracts.api.pgp import ALICE, ALICE_FINGERPRINT, SIGNER
from tests.contracts.api.pgp_keys import BAD

_TRANSIT = {
    "type": "transit",
    "transit": {"address": "https://kms.example.com", "keyName": "k", "mountPath": "transit"},
}
_WHOLE: dict[str, Any] = {"profile": "Development", "selfInit": with_request(), "unseal": _TRANSIT}
_FIRST = "spec.recoveryKeys.initial.recipients[0]"


def recovery(shares: int, threshold: int, *keys: dict[str, Any]) -> dict[str, Any]:
    """Recovery keys for as many recipients as there are keys, each with its own name."""
    recipients = [
        {"name": f"r{position}", "pgpPublicKey": ALICE, **key} for position, key in enumerate(keys)
    ]
    return {"initial": {"shares": shares, "threshold": threshold, "recipients": recipients}}


CASES: dict[str, Case] = {
    "recovery keys without self-init": Case(
        "recovery-needs-self-init",
        "spec.recoveryKeys.initial",
        {**_WHOLE, "selfInit": None, "recoveryKeys": recovery(1, 1, {})},
    ),
    "recovery keys with a static seal": Case(
        "recovery-needs-seal",
        "spec.recoveryKeys.initial",
        {**_WHOLE, "unseal": None, "recoveryKeys": recovery(1, 1, {})},
    ),
    "a threshold above the number of shares": Case(
        "recovery-threshold",
        "spec.recoveryKeys.initial.threshold",
        {**_WHOLE, "recoveryKeys": recovery(2, 3, {}, {})},
    ),
    "several shares and a threshold of one": Case(
        "recovery-threshold-one",
        "spec.recoveryKeys.initial.threshold",
        {**_WHOLE, "recoveryKeys": recovery(2, 1, {}, {})},
    ),
    "fewer recipients than shares": Case(
        "recovery-recipients",
        "spec.recoveryKeys.initial.recipients",
        {**_WHOLE, "recoveryKeys": recovery(3, 2, {}, {})},
    ),
}

# Rules without CEL: only the operator checks them.
CODE_CASES: dict[str, Case] = {
    "a recovery share for an invalid key": Case(
        "recovery-key",
        f"{_FIRST}.pgpPublicKey",
        {**_WHOLE, "recoveryKeys": recovery(1, 1, {"pgpPublicKey": "bm8ga2V5"})},
    ),
    "a recovery share for a key that cannot encrypt": Case(
        "recovery-key",
        f"{_FIRST}.pgpPublicKey",
        {**_WHOLE, "recoveryKeys": recovery(1, 1, {"pgpPublicKey": SIGNER})},
    ),
    **{
        f"a recovery share for {what}": Case(
            "recovery-key",
            f"{_FIRST}.pgpPublicKey",
            {**_WHOLE, "recoveryKeys": recovery(1, 1, {"pgpPublicKey": key})},
        )
        for what, (key, _) in BAD.items()
    },
    "a recovery share for a key that is not base64": Case(
        "recovery-key",
        f"{_FIRST}.pgpPublicKey",
        {**_WHOLE, "recoveryKeys": recovery(1, 1, {"pgpPublicKey": "mDMEé"})},
    ),
    "the fingerprint of another key": Case(
        "recovery-fingerprint",
        f"{_FIRST}.fingerprint",
        {**_WHOLE, "recoveryKeys": recovery(1, 1, {"fingerprint": ALICE_FINGERPRINT[::-1]})},
    ),
    "two recipients with the same name": Case(
        "recovery-names",
        "spec.recoveryKeys.initial.recipients[1].name",
        {**_WHOLE, "recoveryKeys": recovery(2, 2, {"name": "a"}, {"name": "a"})},
    ),
}
