"""Rules about spec.recoveryKeys.

Uses the API models. Collected by contracts.api.rules.cluster. The keys are made by the first boot,
which happens once: what the server would refuse then is refused here.
"""

from collections.abc import Callable, Iterator

from contracts.api.cluster.recovery import InitialRecoveryKeys
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule, either
from contracts.api.values.openpgp import NotAKeyError, read_fingerprint, read_public_key

Old = OpenBaoCluster | None

_INITIAL = "spec.recoveryKeys.initial"
_SEAL = either("unseal.type", "'static'")
_ASKS = "has(self.recoveryKeys) && has(self.recoveryKeys.initial)"


def initial_keys(cluster: OpenBaoCluster) -> InitialRecoveryKeys | None:
    """The recovery keys that the first boot makes; None when it makes none."""
    keys = cluster.spec.recovery_keys
    return keys.initial if keys else None


def _in_initial(find: Callable[[InitialRecoveryKeys], Iterator[Offence]]) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        keys = initial_keys(new)
        if keys is not None:
            yield from find(keys)

    return broken


def _needs_self_init(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if initial_keys(new) and not new.spec.self_initializes:
        yield _INITIAL, None


def _needs_seal(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if initial_keys(new) and new.spec.unseal.type == "static":
        yield _INITIAL, None


def _threshold(keys: InitialRecoveryKeys) -> Iterator[Offence]:
    if keys.threshold > keys.shares:
        yield f"{_INITIAL}.threshold", keys.threshold


def _lone_threshold(keys: InitialRecoveryKeys) -> Iterator[Offence]:
    if keys.threshold == 1 and keys.shares > 1:
        yield f"{_INITIAL}.threshold", 1


def _recipients(keys: InitialRecoveryKeys) -> Iterator[Offence]:
    if len(keys.recipients) != keys.shares:
        yield f"{_INITIAL}.recipients", f"{len(keys.recipients)} recipients"


def _names(keys: InitialRecoveryKeys) -> Iterator[Offence]:
    seen: set[str] = set()
    for position, recipient in enumerate(keys.recipients):
        if recipient.name in seen:
            yield f"{_INITIAL}.recipients[{position}].name", recipient.name
        seen.add(recipient.name)


def _no_key(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    keys = initial_keys(new)
    if keys is None or new.status.initialized:
        # The shares are made: a cluster that runs is not stopped because of a key that was good.
        return
    for position, recipient in enumerate(keys.recipients):
        try:
            read_public_key(recipient.pgp_public_key)
        except NotAKeyError as error:
            # The reason and not the text: a user may have pasted a private key.
            yield f"{_INITIAL}.recipients[{position}].pgpPublicKey", str(error)


def _other_key(keys: InitialRecoveryKeys) -> Iterator[Offence]:
    for position, recipient in enumerate(keys.recipients):
        fingerprint = (recipient.fingerprint or "").lower()
        if fingerprint and read_fingerprint(recipient.pgp_public_key) not in ("", fingerprint):
            yield f"{_INITIAL}.recipients[{position}].fingerprint", fingerprint


RECOVERY_RULES: tuple[Rule, ...] = (
    Rule(
        id="recovery-needs-self-init",
        at="spec",
        field=_INITIAL,
        message=(
            "needs selfInit.enabled: true, because the first boot makes the keys; set that, or "
            "remove this field"
        ),
        broken=_needs_self_init,
        cel=f"!({_ASKS}) || {either('selfInit.enabled', 'false')}",
    ),
    Rule(
        id="recovery-needs-seal",
        at="spec",
        field=_INITIAL,
        message=(
            "needs a seal other than static, whose key would open the data without them; choose "
            "another unseal.type, or remove this field"
        ),
        broken=_needs_seal,
        cel=f"!({_ASKS}) || {_SEAL} != 'static'",
    ),
    Rule(
        id="recovery-threshold",
        at=_INITIAL,
        field=f"{_INITIAL}.threshold",
        message="must not be more than shares; lower it or raise the other",
        broken=_in_initial(_threshold),
        cel="self.threshold <= self.shares",
    ),
    Rule(
        id="recovery-threshold-one",
        at=_INITIAL,
        field=f"{_INITIAL}.threshold",
        message="must be 2 or more when there are several shares; raise it",
        broken=_in_initial(_lone_threshold),
        cel="self.threshold > 1 || self.shares == 1",
    ),
    Rule(
        id="recovery-recipients",
        at=_INITIAL,
        field=f"{_INITIAL}.recipients",
        message="must be as many as there are shares, one each; correct shares or the list",
        broken=_in_initial(_recipients),
        cel="self.recipients.size() == self.shares",
    ),
    Rule(
        id="recovery-names",
        at=_INITIAL,
        field=f"{_INITIAL}.recipients",
        message="must have names that differ; rename a recipient",
        broken=_in_initial(_names),
    ),
    Rule(
        id="recovery-key",
        at=_INITIAL,
        field=f"{_INITIAL}.recipients",
        message=(
            "must be an OpenPGP public key that the server can encrypt to, as `gpg --export <user> "
            "| base64 -w0` prints it, or the first boot would fail, and it cannot be repeated; "
            "give it an encryption subkey (`gpg --quick-add-key <fingerprint> default encr`) if it "
            "has none, and export it anew"
        ),
        broken=_no_key,
    ),
    Rule(
        id="recovery-fingerprint",
        at=_INITIAL,
        field=f"{_INITIAL}.recipients",
        message=(
            "must be the fingerprint of pgpPublicKey, or somebody else would get the share; "
            "correct one of the two"
        ),
        broken=_in_initial(_other_key),
    ),
)
