"""Rotation of the key of the static seal: the key ring of the servers, and its next transition.

Pure. Called by managers.bootstrap.seal.spec; docs/adr/20261121-static-key-rotation.md explains the
order of the steps. The key ring of all servers changes by one transition at a time:

| keys of the servers | condition, once all servers have them | step |
|---|---|---|
| old | the new key is stored | Spread |
| old, new | - | Switch |
| new, old | the root key is wrapped with new | Retire |
| new | done | |

A server encrypts with the first key and decrypts with both. So in each state, and between two
states, every server can read after a restart what another server wrote. The key ring is stored only
in an annotation of the pod template and of each pod, and in the status of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contracts.api.cluster.seal import Unseal
from contracts.api.cluster.status_unseal import Step
from contracts.naming import labels, names
from contracts.ownership_conflict import foreign_secret
from contracts.records.observed import Observed, PodFacts, StatefulSetFacts
from contracts.unseal_keys import KeyRing, Rotation, UnsealKey, generated_file
from managers.bootstrap.seal.keys import (
    ServerEvidence,
    live_ring,
    ring_for_data,
    secret_of,
    stored_keys,
)
from runtime.outcome import Blocked

REFUSED = "UnsealKeyRotationRefused"


@dataclass(frozen=True, slots=True)
class RotationFacts:
    """Inputs of the transitions."""

    cluster: str
    live: KeyRing
    requested: UnsealKey
    rolled_out: bool
    """Every server is ready and has exactly the keys of `live`."""
    rewrapped: bool
    """A leader with the key ring `live` has rewrapped the root key."""
    stored: bool
    """The requested key is in its Secret."""
    supplied: bool
    """The user supplies the keys; the operator generates none."""
    all_sealed: bool = False
    """Every server is sealed."""
    current_stored: bool = True
    """The current key is in its Secret."""

    @property
    def locked_out(self) -> bool:
        """Whether no server can unseal, and the spec names a key that none of them has.

        A ring of one key accepts another key immediately. A ring of two keys accepts only a newer
        one. A newer key is generated only when one key is left, so such a ring is outdated.
        """
        if not self.all_sealed or not self.stored or self.requested in self.live.keys:
            return False
        newer = not self.supplied and self.requested.generation > self.live.newest
        return self.live.other is None or newer


def rotation(
    cluster: str, unseal: Unseal, observed: Observed, status_keys: str, *, initialized: bool = False
) -> Rotation:
    """Decide the key ring of a static seal.

    `status_keys`: the key ring in the last status, as text. `initialized`: data exists, according
    to that status.
    """
    servers = ServerEvidence.of(observed, initialized=initialized)
    supplied = unseal.secret_name
    live = live_ring(servers, status_keys)
    searching = servers.has_no_key_ring or servers.all_sealed
    keys = stored_keys(cluster, unseal, observed, live) if searching else ()
    live = ring_for_data(live, keys, servers, unseal.static_key().current_key_id)
    if live is None:
        first = _key_of_spec(unseal, observed, 1)
        return Rotation(KeyRing(first), first)
    requested = (
        _matching_key(live, unseal)
        or _newer_key(live, keys, unseal)
        or _key_of_spec(unseal, observed, live.newest + 1)
    )
    refusal = _refusal(cluster, live, requested, unseal, observed)
    if refusal is not None:
        # The servers keep their key ring; a rotation in progress waits.
        return Rotation(live, live.current, "Refused", refusal=refusal)
    facts = RotationFacts(
        cluster=cluster,
        live=live,
        requested=requested,
        rolled_out=_rolled_out(observed, live),
        rewrapped=any(
            pod.unseal == str(live) and pod.rewrap_key == live.current.id
            for pod in observed.servers
        ),
        stored=bool(supplied) or secret_of(cluster, requested, supplied) in observed.secrets,
        supplied=bool(supplied),
        all_sealed=servers.all_sealed,
        current_stored=bool(supplied)
        or secret_of(cluster, live.current, supplied) in observed.secrets,
    )
    return next(transition(facts) for applies, transition in TABLE if applies(facts))


def _matching_key(live: KeyRing, unseal: Unseal) -> UnsealKey | None:
    static = unseal.static_key()
    key = next((key for key in live.keys if key.id == static.current_key_id), None)
    if key is None or (unseal.secret_name and key.file != static.file):
        return None
    return key


def _newer_key(live: KeyRing, keys: Sequence[UnsealKey], unseal: Unseal) -> UnsealKey | None:
    """Return the key of the spec if it was generated after the keys of the servers; else None."""
    key_id = unseal.static_key().current_key_id
    return next((key for key in keys if key.id == key_id and key.generation > live.newest), None)


def _key_of_spec(unseal: Unseal, observed: Observed, generation: int) -> UnsealKey:
    static = unseal.static_key()
    if unseal.secret_name is None:
        return UnsealKey(static.current_key_id, generated_file(generation))
    secret = observed.secrets.get(unseal.secret_name)
    content = secret.keys.get(static.file) if secret else None
    return UnsealKey(static.current_key_id, static.file, content.fingerprint if content else "")


def _rolled_out(observed: Observed, live: KeyRing) -> bool:
    pool = observed.read
    # Unknown without pods: a hibernated server has not read the keys.
    if not observed.pods or not _pool_has(observed.stateful_set, observed.pods, live):
        return False
    # Read replicas unseal with the same keys.
    return not (pool.stateful_set or pool.pods) or _pool_has(pool.stateful_set, pool.pods, live)


def _pool_has(live_set: StatefulSetFacts | None, pods: Sequence[PodFacts], live: KeyRing) -> bool:
    return (
        live_set is not None
        and live_set.generation_observed
        and live_set.unseal == str(live)
        and len(pods) == live_set.replicas
        and all(pod.ready and pod.unseal == str(live) for pod in pods)
    )


# --- refusals -----------------------------------------------------------------------------------


def _refusal(
    cluster: str, live: KeyRing, requested: UnsealKey, unseal: Unseal, observed: Observed
) -> Blocked | None:
    if live.recovered and requested == live.other:
        return _refuse_older(cluster, live, requested)
    if requested in live.keys:
        return None
    if unseal.secret_name is not None:
        return _refuse_supplied(live, requested, unseal.secret_name, observed)
    return _refuse_generated(cluster, live, requested, observed)


def _refuse_older(cluster: str, live: KeyRing, requested: UnsealKey) -> Blocked:
    newest = live.current
    return Blocked(
        REFUSED,
        f"spec.unseal.static.currentKeyID: {requested.id} is the id of an older key (Secret "
        f"{secret_of(cluster, requested, None)}), and {newest.id} is that of the newest (Secret "
        f"{secret_of(cluster, newest, None)}). The servers can unseal with either: set "
        f"currentKeyID to {newest.id}",
    )


def _refuse_generated(
    cluster: str, live: KeyRing, requested: UnsealKey, observed: Observed
) -> Blocked | None:
    """Refuse the id of an older key, and another id for a next key that already exists."""
    for generation in range(1, requested.generation):
        name = names.unseal_key_secret(cluster, generation)
        secret = observed.secrets.get(name)
        if secret is not None and secret.key_id == requested.id:
            return Blocked(
                REFUSED,
                f"spec.unseal.static.currentKeyID: {requested.id} is the id of an older key "
                f"(Secret {name}), and an id cannot be reused: set currentKeyID to "
                f"{live.current.id}, which the servers use, or to an id that was never used",
            )
    name = names.unseal_key_secret(cluster, requested.generation)
    next_secret = observed.secrets.get(name)
    if next_secret is not None and not next_secret.owned:
        return foreign_secret(name, next_secret.owner)
    if next_secret is not None and next_secret.key_id != requested.id:
        next_id = next_secret.key_id or "?"
        return Blocked(
            REFUSED,
            f"spec.unseal.static.currentKeyID: the next key was already generated with the id "
            f"{next_id} (Secret {name}), and the id of a key cannot be changed: set currentKeyID "
            f"to {next_id}, or back to {live.current.id}",
        )
    return None


def _refuse_supplied(
    live: KeyRing, requested: UnsealKey, secret: str, observed: Observed
) -> Blocked | None:
    """Return why a key that the user supplied cannot be the next one."""
    location = f"spec.unseal.static: key {requested.id} in file {requested.file} of Secret {secret}"
    same_id = next((key for key in live.keys if key.id == requested.id), None)
    if same_id is not None:
        return Blocked(
            REFUSED,
            f"{location}: the key {requested.id} is in file {same_id.file}, and an id cannot be "
            "reused: choose another id for the new key",
        )
    if any(key.file == requested.file for key in live.keys):
        return Blocked(
            REFUSED,
            f"{location}: this file contains the key {live.current.id}, which is still needed: "
            "store the new key under another key of the Secret, and set currentKey to it",
        )
    if requested.fingerprint in {key.fingerprint for key in live.keys} - {""}:
        return Blocked(
            REFUSED, f"{location}: it has the bytes of the old key: generate 32 new random bytes"
        )
    source = observed.secrets.get(secret)
    content = source.keys.get(requested.file) if source else None
    if content is None:
        return Blocked("PrerequisitesMissing", f"{location}: no such key in the Secret: add it")
    if not content.unseal_key:
        return Blocked(
            "PrerequisitesMissing",
            f"{location}: its {content.size} bytes are not a valid key: store 32 random bytes, "
            "raw, hexadecimal or base64, without a newline",
        )
    return None


# --- the table ----------------------------------------------------------------------------------


def _keep(facts: RotationFacts, step: Step) -> Rotation:
    return Rotation(facts.live, facts.requested, step)


def _start(facts: RotationFacts) -> Rotation:
    if not facts.rolled_out:
        return _keep(facts, "Gathering")
    if not facts.stored:
        secret = secret_of(facts.cluster, facts.requested, None)
        return Rotation(facts.live, facts.requested, "Drawing", draw=secret)
    return Rotation(KeyRing(facts.live.current, facts.requested), facts.requested, "Spreading")


def _unlock(facts: RotationFacts) -> Rotation:
    current, requested = facts.live.current, facts.requested
    keeps_current = facts.current_stored and current.file != requested.file
    ring = KeyRing(current, requested) if keeps_current else KeyRing(requested)
    return Rotation(ring, requested, "Spreading")


def _switch(facts: RotationFacts) -> Rotation:
    if not facts.rolled_out:
        return _keep(facts, "Spreading")
    return Rotation(KeyRing(facts.requested, facts.live.current), facts.requested, "Switching")


def _retire(facts: RotationFacts) -> Rotation:
    if not facts.rolled_out:
        return _keep(facts, "Switching")
    if not facts.rewrapped:
        return _keep(facts, "Rewrapping")
    return Rotation(KeyRing(facts.live.current), facts.requested, "Retiring")


def _settled(facts: RotationFacts) -> Rotation:
    return _keep(facts, "Settled")


Transition = tuple[Callable[[RotationFacts], bool], Callable[[RotationFacts], Rotation]]

TABLE: tuple[Transition, ...] = (
    (lambda facts: facts.live.keys == (facts.requested,), _settled),
    # Before every transition that waits for ready servers: none becomes ready without this key.
    (lambda facts: facts.locked_out, _unlock),
    (lambda facts: facts.live.other is None, _start),
    (lambda facts: facts.live.other == facts.requested, _switch),
    # The servers have the old and the new key. If the spec names a third one, this rotation ends
    # first.
    (lambda facts: True, _retire),
)
"""Guard and action; the first match applies. `_retire` also ends a rotation that was reverted."""


def pod_annotations(ring: KeyRing | None) -> dict[str, str]:
    """Return the annotation of a pod template with the key ring of its servers."""
    return {} if ring is None else {labels.UNSEAL_KEYS: str(ring)}
