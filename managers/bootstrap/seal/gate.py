"""Decides whether pods may start with the seal of the spec, and what must be created first. Pure.

Called by `managers.bootstrap.plan`. Enforces rules I02 and I03 of the safety list: a key is
generated once, and never while data exists that another key sealed. No error here changes a running
pod.
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
# Fallback: the annotation that records a rewrap on a pod triggers a reconcile.
REWRAP_RECHECK = 15.0
# A message has at most 1,024 characters; further problems are reported once these are fixed.
PROBLEMS_MAX = 3


@dataclass(frozen=True, slots=True)
class SealStep:
    """The next step for the seal.

    `gate`: no pod may be started or replaced. `effect` generates a key. `outcome` reports both.
    """

    effect: Effect | None = None
    outcome: Blocked | Wait | None = None
    gate: bool = False


def seal_step(resolved: Resolved, observed: Observed) -> SealStep:
    """Decide the next step for the seal of one cluster."""
    rotation = resolved.unseal.rotation
    if rotation is None:
        return _check_secret(resolved, observed)
    not_owned = _not_owned(resolved, observed)
    if not_owned:
        return _stop(foreign(" and ".join(not_owned)))
    for key in rotation.ring.keys:
        step = _key(resolved, observed, key)
        if step is not None:
            return step
    return _rotation_step(rotation)


def _check_secret(resolved: Resolved, observed: Observed) -> SealStep:
    unseal = resolved.unseal.spec
    secret = observed.secrets.get(unseal.secret_name or "")
    violations = problems(unseal, secret)
    if not violations:
        return SealStep()
    shown_problems = "; ".join(violations[:PROBLEMS_MAX])
    more = len(violations) - PROBLEMS_MAX
    message = shown_problems if more <= 0 else f"{shown_problems}; and {more} more"
    return SealStep(outcome=Blocked("PrerequisitesMissing", message), gate=True)


def _not_owned(resolved: Resolved, observed: Observed) -> list[str]:
    """Return a message for each key Secret with another owner: the user must adopt each."""
    unseal = resolved.unseal
    conflicts: list[str] = []
    if unseal.spec.secret_name is not None:
        return conflicts
    for name in unseal.secrets:
        secret = observed.secrets.get(name)
        if secret is not None and not secret.owned:
            conflicts.append(f"Secret {name} exists and is owned by {secret.owner}")
    return conflicts


def _key(resolved: Resolved, observed: Observed, key: UnsealKey) -> SealStep | None:
    supplied = resolved.unseal.spec.secret_name
    name = secret_of(resolved.name, key, supplied)
    secret = observed.secrets.get(name)
    holds_data = resolved.initialized or observed.holds_data
    if secret is None and holds_data:
        if supplied is None and key.generation == 1 and not _template_names_keys(observed):
            return _stop(_no_key_left(name, names.unseal_key_secret(resolved.name, 2)))
        return _stop(_missing(f"Secret {name}", key))
    if secret is None and supplied is None:
        outcome = Wait("PrerequisitesMissing", "the operator generates the unseal key", 0.0)
        return SealStep(DrawUnsealKey(name), outcome, gate=True)
    if secret is None:
        return _stop(_not_supplied(name, key))
    blocks = (
        _check_generated(secret, key)
        if supplied is None
        else _check_supplied(secret, key, holds_data)
    )
    return next((_stop(blocked) for blocked in blocks), None)


def _stop(blocked: Blocked) -> SealStep:
    return SealStep(outcome=blocked, gate=True)


def _check_generated(secret: SecretFacts, key: UnsealKey) -> Iterator[Blocked]:
    if secret.key_id and secret.key_id != key.id:
        yield Blocked(
            REFUSED,
            f"spec.unseal.static.currentKeyID is {key.id}, but Secret {secret.name} contains the "
            f"key {secret.key_id}. The id of a key cannot be changed: set the field to "
            f"{secret.key_id}; once the cluster runs, a new id generates a new key",
        )


def _check_supplied(secret: SecretFacts, key: UnsealKey, holds_data: bool) -> Iterator[Blocked]:
    content = secret.keys.get(key.file)
    location = f"Secret {secret.name}, key {key.file}"
    if content is None:
        yield _missing(location, key) if holds_data else _not_supplied(secret.name, key)
    elif not content.unseal_key and not key.fingerprint:
        yield Blocked(
            "PrerequisitesMissing",
            f"spec.unseal.credentialsSecretRef: {location}: its {content.size} bytes are not a "
            "valid key: store 32 random bytes, raw, hexadecimal or base64, without a newline",
        )
    elif key.fingerprint and content.fingerprint != key.fingerprint:
        yield Blocked(
            "UnsealKeyChanged",
            f"{location}: its content is not the key that the servers use as {key.id}, and only "
            "that key can unseal the data: restore the former content. To change the key, add "
            "another one to the Secret and set spec.unseal.static.currentKey to it, with a new id. "
            "Running servers continue to serve until they restart",
        )


def _missing(location: str, key: UnsealKey) -> Blocked:
    return Blocked(
        "UnsealKeyMissing",
        f"{location} is missing, and data exists that only its key ({key.id}) can unseal, so the "
        "operator generates no other key. Restore the Secret from a backup; running servers "
        "continue to serve until they restart",
    )


def _template_names_keys(observed: Observed) -> bool:
    """Return whether the pod template names the keys; then it is known which key is missing."""
    return observed.stateful_set is not None and bool(observed.stateful_set.unseal)


def _no_key_left(name: str, next_name: str) -> Blocked:
    return Blocked(
        "UnsealKeyMissing",
        f"Secret {name} is missing, data exists, and there is no key of a later rotation "
        f"({next_name} and so on), so the operator generates no other key. Restore the Secret with "
        "the highest number and the one before it from a backup; the steps are in docs/seals.md, "
        '"Which key opens my data"',
    )


def _not_supplied(name: str, key: UnsealKey) -> Blocked:
    return Blocked(
        "PrerequisitesMissing",
        f"spec.unseal.credentialsSecretRef.name: Secret {name} with a key {key.file} does not "
        f"exist. Create it, with the 32 bytes of the key under `{key.file}`",
    )


def _rotation_step(rotation: Rotation) -> SealStep:
    if rotation.refusal is not None:
        # The servers keep their keys, so the reconcile continues.
        return SealStep(outcome=rotation.refusal)
    if rotation.draw:
        outcome = Wait(ROTATING, f"the operator generates the key {rotation.target.id}", 0.0)
        return SealStep(DrawUnsealKey(rotation.draw), outcome)
    if rotation.step == "Rewrapping":
        return SealStep(outcome=Wait(ROTATING, _rewrap(rotation), REWRAP_RECHECK))
    return SealStep()


def _rewrap(rotation: Rotation) -> str:
    current = rotation.ring.current.id
    return (
        f"every server has the key {current}; the root key must be wrapped with it before the old "
        "key is removed. If this persists, the operator lacks the permission: log in to the leader "
        "with the required permission, run `bao write -f sys/rotate/root`, then `kubectl annotate "
        f"pod <leader> openbao.org/unseal-rewrapped={current}@done`"
    )
