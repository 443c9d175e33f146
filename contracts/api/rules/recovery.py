"""Rules about spec.recoveryKeys.

Uses the API models. Collected by contracts.api.rules.cluster. The first boot generates the keys. It
runs once, so the rules reject keys that the server would reject.
"""

from collections.abc import Iterator

from contracts.api.cluster.recovery import InitialRecoveryKeys
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import either, group, has, it
from contracts.api.rules.combinators import invalid_fields, rule, unique
from contracts.api.rules.rule import InvalidField, Old, Rule, RuleOf
from contracts.api.values.openpgp_packets import NotAKeyError
from contracts.api.violation import Explanation

_INITIAL = "spec.recoveryKeys.initial"
_ASKS = group(has("recoveryKeys") & has("recoveryKeys.initial"))


def initial_keys(cluster: OpenBaoCluster) -> InitialRecoveryKeys | None:
    """Return the recovery keys that the first boot generates; None if it generates none."""
    keys = cluster.spec.recovery_keys
    return keys.initial if keys else None


def _no_key(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    keys = initial_keys(new)
    if keys is None or new.status.initialized:
        # The shares exist: a later problem of a key must not stop a running cluster.
        return
    # Only for specs with keys: few have one.
    from contracts.api.values.openpgp import read_public_key

    for position, recipient in enumerate(keys.recipients):
        try:
            read_public_key(recipient.pgp_public_key)
        except NotAKeyError as error:
            # Never the text itself: it may be a private key.
            yield f"{_INITIAL}.recipients[{position}].pgpPublicKey", Explanation(error)


def _other_key(keys: InitialRecoveryKeys) -> Iterator[InvalidField]:
    from contracts.api.values.openpgp import read_fingerprint

    for position, recipient in enumerate(keys.recipients):
        fingerprint = (recipient.fingerprint or "").lower()
        if fingerprint and read_fingerprint(recipient.pgp_public_key) not in ("", fingerprint):
            yield f"recipients[{position}].fingerprint", fingerprint


RECOVERY_RULES: tuple[Rule, ...] = (
    rule(
        "recovery-needs-self-init",
        "spec",
        "recoveryKeys.initial",
        "needs selfInit.enabled: true, because the first boot generates the keys; set that, or "
        "remove this field",
        ~_ASKS | either("selfInit.enabled", False).is_true(),
        shows=None,
    ),
    rule(
        "recovery-needs-seal",
        "spec",
        "recoveryKeys.initial",
        "needs a seal other than static, whose key decrypts the data without recovery keys; "
        "choose another unseal.type, or remove this field",
        ~_ASKS | either("unseal.type", "static").differs("static"),
        shows=None,
    ),
    rule(
        "recovery-threshold",
        _INITIAL,
        "threshold",
        "must not be more than shares; lower it or raise shares",
        it("threshold").at_most(it("shares")),
    ),
    rule(
        "recovery-threshold-one",
        _INITIAL,
        "threshold",
        "must be 2 or more when there are several shares; raise it",
        it("threshold").above(1) | it("shares").equals(1),
    ),
    rule(
        "recovery-recipients",
        _INITIAL,
        "recipients",
        "must have one entry per share; correct shares or the list",
        it("recipients").size().equals(it("shares")),
        shows=lambda keys: f"{len(keys.recipients)} recipients",
    ),
    unique(
        "recovery-names",
        _INITIAL,
        "recipients",
        "recipients[].name",
        "must have unique names; rename a recipient",
    ),
    RuleOf(
        "recovery-key",
        _INITIAL,
        f"{_INITIAL}.recipients",
        "must be an OpenPGP public key that the server can encrypt to, as printed by `gpg "
        "--export <user> | base64 -w0`; with another key the first boot would fail, and it cannot "
        "be repeated; add an encryption subkey (`gpg --quick-add-key <fingerprint> default encr`) "
        "if it has none, and export it again",
        _no_key,
    ),
    RuleOf(
        "recovery-fingerprint",
        _INITIAL,
        f"{_INITIAL}.recipients",
        "must be the fingerprint of pgpPublicKey, because another person could get the share; "
        "correct one of the two",
        invalid_fields(_INITIAL, _other_key),
    ),
)
