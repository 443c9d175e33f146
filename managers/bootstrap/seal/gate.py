"""Whether pods may start with the seal of the spec, and what has to be created first. Pure.

Called by `managers.bootstrap.plan`. Rules I02 and I03 of the safety list: a key is drawn once,
never while data exists that another key sealed, and no error here touches a running pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.naming import names
from contracts.ownership_conflict import foreign
from contracts.records.effects import DrawUnsealKey, Effect
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.secrets import SecretFacts
from contracts.unseal_keys import Rotation, UnsealKey
from managers.bootstrap.seal.keys import secret_of
from managers.bootstrap.seal.prerequisites import problems
from managers.bootstrap.seal.rotation import REFUSED
from runtime.outcome import Blocked, Wait

ROTATING = "RotatingUnsealKey"
# A rewrap is recorded on a pod, which wakes the reconciler; a user may do it, too.
REWRAP_RECHECK = 15.0
# A message has 1,024 characters; the rest is reported once these are fixed.
PROBLEMS_MAX = 3


@dataclass(frozen=True, slots=True)
class SealStep:
    """What the seal needs.

    `gate`: no pod may be started or replaced. `effect` draws a key. `outcome` covers both.
    """

    effect: Effect | None = None
    outcome: Blocked | Wait | None = None
    gate: bool = False


def seal_step(resolved: Resolved, observed: Observed) -> SealStep:
    """Check the seal of one cluster."""
    rotation = resolved.unseal.rotation
    if rotation is None:
        return _checked(resolved, observed)
    not_owned = _not_owned(resolved, observed)
    if not_owned:
        return _stop(foreign(" and ".join(not_owned)))
    for key in rotation.ring.keys:
        step = _key(resolved, observed, key)
        if step is not None:
            return step
    return _rotating(rotation)


def _checked(resolved: Resolved, observed: Observed) -> SealStep:
    unseal = resolved.unseal.spec
    secret = observed.secrets.get(unseal.secret_name or "")
    violations = problems(unseal, secret)
    if not violations:
        return SealStep()
    listed = "; ".join(violations[:PROBLEMS_MAX])
    more = len(violations) - PROBLEMS_MAX
    message = listed if more <= 0 else f"{listed}; and {more} more"
    return SealStep(outcome=Blocked("PrerequisitesMissing", message), gate=True)


def _not_owned(resolved: Resolved, observed: Observed) -> list[str]:
    """Return all key Secrets that are not owned: each has to be adopted."""
    unseal = resolved.unseal
    conflicts: list[str] = []
    if unseal.spec.secret_name is not None:
        return conflicts
    for name in unseal.secrets:
        secret = observed.secrets.get(name)
        if secret is not None and not secret.mine:
            conflicts.append(f"Secret {name} exists and belongs to {secret.owner}")
    return conflicts


def _key(resolved: Resolved, observed: Observed, key: UnsealKey) -> SealStep | None:
    supplied = resolved.unseal.spec.secret_name
    name = secret_of(resolved.name, key, supplied)
    secret = observed.secrets.get(name)
    holds_data = resolved.initialized or observed.holds_data
    if secret is None and holds_data:
        if supplied is None and key.generation == 1 and not _template_names_keys(observed):
            return _stop(_none_left(name, names.unseal_key_secret(resolved.name, 2)))
        return _stop(_missing(f"Secret {name} is gone", key))
    if secret is None and supplied is None:
        drawn = Wait("PrerequisitesMissing", "the unseal key is made", 0.0)
        return SealStep(DrawUnsealKey(name), drawn, gate=True)
    if secret is None:
        return _stop(_not_supplied(name, key))
    blocks = _own(secret, key) if supplied is None else _brought(secret, key, holds_data)
    return next((_stop(blocked) for blocked in blocks), None)


def _stop(blocked: Blocked) -> SealStep:
    return SealStep(outcome=blocked, gate=True)


def _own(secret: SecretFacts, key: UnsealKey) -> Iterator[Blocked]:
    if secret.key_id and secret.key_id != key.id:
        yield Blocked(
            REFUSED,
            f"spec.unseal.static.currentKeyID: Secret {secret.name} holds the key {secret.key_id}, "
            f"and the spec calls it {key.id}. An id stays tied to its key for ever: set it to "
            f"{secret.key_id}; once the cluster runs, a new id draws a new key",
        )


def _brought(secret: SecretFacts, key: UnsealKey, holds_data: bool) -> Iterator[Blocked]:
    content = secret.keys.get(key.file)
    where = f"Secret {secret.name}, key {key.file}"
    if content is None:
        yield _missing(where, key) if holds_data else _not_supplied(secret.name, key)
    elif not content.unseal_key and not key.fingerprint:
        yield Blocked(
            "PrerequisitesMissing",
            f"spec.unseal.credentialsSecretRef: {where}: {content.size} bytes are no key: put 32 "
            "random bytes there, raw or in hexadecimal digits or base64, and no newline behind "
            "them",
        )
    elif key.fingerprint and content.fingerprint != key.fingerprint:
        yield Blocked(
            "UnsealKeyChanged",
            f"{where}: these are not the bytes that the servers know as {key.id}, and only those "
            "open the data: put the former bytes back. To change the key, add another one to the "
            "Secret and name it in spec.unseal.static.currentKey with an id of its own. Running "
            "servers keep serving until they restart",
        )


def _missing(what: str, key: UnsealKey) -> Blocked:
    return Blocked(
        "UnsealKeyMissing",
        f"{what} and data exists that only its key ({key.id}) can unseal: no other key is ever "
        "made. Restore the Secret from a backup; running servers keep serving until they restart",
    )


def _template_names_keys(observed: Observed) -> bool:
    """Return whether the pod template names keys: then it is known which one is missing."""
    return observed.stateful_set is not None and bool(observed.stateful_set.unseal)


def _none_left(name: str, next_name: str) -> Blocked:
    return Blocked(
        "UnsealKeyMissing",
        f"Secret {name} is gone and data exists, and no key of a later rotation ({next_name} and "
        "so on) is there: no other key is ever made. Restore the one with the highest number and "
        "the "
        'one before it from a backup; docs/seals.md, "Which key opens my data", has the steps',
    )


def _not_supplied(name: str, key: UnsealKey) -> Blocked:
    return Blocked(
        "PrerequisitesMissing",
        f"spec.unseal.credentialsSecretRef.name: Secret {name} with a key {key.file} does not "
        f"exist. Create it with the 32 bytes of the key under `{key.file}`",
    )


def _rotating(rotation: Rotation) -> SealStep:
    if rotation.refusal is not None:
        # The servers keep their keys, so everything else goes on.
        return SealStep(outcome=rotation.refusal)
    if rotation.draw:
        wait = Wait(ROTATING, f"the key {rotation.target.id} is made", 0.0)
        return SealStep(DrawUnsealKey(rotation.draw), wait)
    if rotation.step == "Rewrapping":
        return SealStep(outcome=Wait(ROTATING, _rewrap(rotation), REWRAP_RECHECK))
    return SealStep()


def _rewrap(rotation: Rotation) -> str:
    current = rotation.ring.current.id
    return (
        f"every server knows the key {current}; the root key is to be wrapped with it before the "
        "old one goes. If this lasts, the operator may not do it: log in to the leader with the "
        "right to, run `bao write -f sys/rotate/root`, then `kubectl annotate pod <leader> "
        f"openbao.org/unseal-rewrapped={current}@done`"
    )
