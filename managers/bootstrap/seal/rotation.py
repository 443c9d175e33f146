"""Rotation of the key of the static seal: the key ring of the servers, and its next transition.

Pure. Called by managers.bootstrap.seal.spec; docs/adr/20261121-static-key-rotation.md explains the
order of the steps. The key ring of all servers moves one transition at a time:

| servers know | when all of them do | step |
|---|---|---|
| old | the new key is stored | Spread |
| old, new | - | Switch |
| new, old | the root key is wrapped with new | Retire |
| new | done | |

A server encrypts with the first key and decrypts with both, so what one server writes, in each
state and between two of them, every other server can read after a restart. The key ring is an
annotation of the pod template and of each pod: no other state is stored.
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
from managers.bootstrap.seal.keys import ServerEvidence, live_ring, opening, secret_of, stored
from runtime.outcome import Blocked

REFUSED = "UnsealKeyRotationRefused"


@dataclass(frozen=True, slots=True)
class RotationFacts:
    """Inputs of the transitions."""

    cluster: str
    live: KeyRing
    requested: UnsealKey
    everywhere: bool
    """Every server is ready and has exactly the keys of `live`."""
    rewrapped: bool
    """A leader with that key ring has rewrapped the root key."""
    stored: bool
    """The requested key is in its Secret."""
    supplied: bool
    shut: bool = False
    """Every server is sealed."""
    kept: bool = True
    """The current key is in its Secret."""

    @property
    def locked_out(self) -> bool:
        """No server can unseal, and the spec names a key that none of them has.

        A ring of one key can take another one at once. In a ring of two, one has to make room for a
        newer key, which exists only if the two do not unseal: it is drawn when one key is left.
        """
        if not self.shut or not self.stored or self.requested in self.live.keys:
            return False
        newer = not self.supplied and self.requested.generation > self.live.newest
        return self.live.other is None or newer


def rotation(
    cluster: str, unseal: Unseal, observed: Observed, status_keys: str, *, initialized: bool = False
) -> Rotation:
    """Decide the key ring of a static seal.

    `status_keys`: the key ring of the last status, used without a StatefulSet. `initialized`: data
    exists, by that status.
    """
    servers = ServerEvidence.of(observed, initialized=initialized)
    supplied = unseal.secret_name
    live = live_ring(servers, status_keys)
    seeking = servers.undecided or servers.shut
    keys = stored(cluster, unseal, observed, live) if seeking else ()
    live = opening(live, keys, servers, unseal.static_key().current_key_id)
    if live is None:
        first = _named(unseal, observed, 1)
        return Rotation(KeyRing(first), first)
    requested = (
        _matching_key(live, unseal)
        or _newer(live, keys, unseal)
        or _named(unseal, observed, live.newest + 1)
    )
    refusal = _refusal(cluster, live, requested, unseal, observed)
    if refusal is not None:
        # The servers keep their key ring; a rotation in progress waits.
        return Rotation(live, live.current, "Refused", refusal=refusal)
    here = RotationFacts(
        cluster=cluster,
        live=live,
        requested=requested,
        everywhere=_everywhere(observed, live),
        rewrapped=any(
            pod.unseal == str(live) and pod.rewrapped == live.current.id for pod in observed.servers
        ),
        stored=bool(supplied) or secret_of(cluster, requested, supplied) in observed.secrets,
        supplied=bool(supplied),
        shut=servers.shut,
        kept=bool(supplied) or secret_of(cluster, live.current, supplied) in observed.secrets,
    )
    return next(transition(here) for applies, transition in TABLE if applies(here))


def _matching_key(live: KeyRing, unseal: Unseal) -> UnsealKey | None:
    static = unseal.static_key()
    same_file = (key for key in live.keys if key.id == static.current_key_id)
    key = next(same_file, None)
    if key is None or (unseal.secret_name and key.file != static.file):
        return None
    return key


def _newer(live: KeyRing, keys: Sequence[UnsealKey], unseal: Unseal) -> UnsealKey | None:
    """Return a key that was drawn after those of the servers, if the spec names one."""
    key_id = unseal.static_key().current_key_id
    return next((key for key in keys if key.id == key_id and key.generation > live.newest), None)


def _named(unseal: Unseal, observed: Observed, generation: int) -> UnsealKey:
    static = unseal.static_key()
    if unseal.secret_name is None:
        return UnsealKey(static.current_key_id, generated_file(generation))
    secret = observed.secrets.get(unseal.secret_name)
    content = secret.keys.get(static.file) if secret else None
    return UnsealKey(static.current_key_id, static.file, content.fingerprint if content else "")


def _everywhere(observed: Observed, live: KeyRing) -> bool:
    pool = observed.read
    # No pods prove nothing: a hibernated server has read nothing.
    if not observed.pods or not _knows(observed.stateful_set, observed.pods, live):
        return False
    # A server without a vote unseals with the same keys.
    return not (pool.stateful_set or pool.pods) or _knows(pool.stateful_set, pool.pods, live)


def _knows(live_set: StatefulSetFacts | None, pods: Sequence[PodFacts], live: KeyRing) -> bool:
    return (
        live_set is not None
        and live_set.settled
        and live_set.unseal == str(live)
        and len(pods) == live_set.replicas
        and all(pod.ready and pod.unseal == str(live) for pod in pods)
    )


# --- refusals -----------------------------------------------------------------------------------


def _refusal(
    cluster: str, live: KeyRing, requested: UnsealKey, unseal: Unseal, observed: Observed
) -> Blocked | None:
    if live.recovered and requested == live.other:
        return _older(cluster, live, requested)
    if requested in live.keys:
        return None
    if unseal.secret_name is not None:
        return _unfit(live, requested, unseal.secret_name, observed)
    return _used(cluster, live, requested, observed)


def _older(cluster: str, live: KeyRing, requested: UnsealKey) -> Blocked:
    newest = live.current
    return Blocked(
        REFUSED,
        f"spec.unseal.static.currentKeyID: {requested.id} is the id of an older key (Secret "
        f"{secret_of(cluster, requested, None)}), and {newest.id} is the newest one (Secret "
        f"{secret_of(cluster, newest, None)}). The servers open their data with either: set "
        f"currentKeyID to {newest.id}",
    )


def _used(cluster: str, live: KeyRing, requested: UnsealKey, observed: Observed) -> Blocked | None:
    """Refuse the id of an older key, and any id but that of a key that is drawn already."""
    for generation in range(1, requested.generation):
        name = names.unseal_key_secret(cluster, generation)
        secret = observed.secrets.get(name)
        if secret is not None and secret.key_id == requested.id:
            return Blocked(
                REFUSED,
                f"spec.unseal.static.currentKeyID: {requested.id} is the id of an older key "
                f"(Secret {name}), and an id stays tied to its key for ever: set currentKeyID to "
                f"{live.current.id}, which the servers use, or to an id that was never used",
            )
    name = names.unseal_key_secret(cluster, requested.generation)
    waiting = observed.secrets.get(name)
    if waiting is not None and not waiting.mine:
        return foreign_secret(name, waiting.owner)
    if waiting is not None and waiting.key_id != requested.id:
        return Blocked(
            REFUSED,
            f"spec.unseal.static.currentKeyID: the next key was drawn as {waiting.key_id or '?'} "
            f"(Secret {name}) and an id stays tied to its key for ever: set currentKeyID to "
            f"{waiting.key_id or '?'}, or back to {live.current.id}",
        )
    return None


def _unfit(live: KeyRing, requested: UnsealKey, secret: str, observed: Observed) -> Blocked | None:
    """Return why a key that the user supplied cannot be the next one."""
    where = f"spec.unseal.static: key {requested.id} in file {requested.file} of Secret {secret}"
    twin = next((key for key in live.keys if key.id == requested.id), None)
    if twin is not None:
        return Blocked(
            REFUSED,
            f"{where}: the key {requested.id} lies in file {twin.file}, and an id stays tied to "
            "its key for ever: give the new key an id of its own",
        )
    if any(key.file == requested.file for key in live.keys):
        return Blocked(
            REFUSED,
            f"{where}: this file holds the key {live.current.id}, which is still needed: put the "
            "new key under a new key of the Secret and name that in currentKey",
        )
    if requested.fingerprint in {key.fingerprint for key in live.keys} - {""}:
        return Blocked(REFUSED, f"{where}: it has the bytes of the old key: draw 32 new ones")
    source = observed.secrets.get(secret)
    content = source.keys.get(requested.file) if source else None
    if content is None:
        return Blocked("PrerequisitesMissing", f"{where}: no such key in the Secret: add it")
    if not content.unseal_key:
        return Blocked(
            "PrerequisitesMissing",
            f"{where}: {content.size} bytes are no key: it takes 32 random bytes, raw or in "
            "hexadecimal digits or base64, and no newline behind them",
        )
    return None


# --- the table ----------------------------------------------------------------------------------


def _keep(here: RotationFacts, step: Step) -> Rotation:
    return Rotation(here.live, here.requested, step)


def _start(here: RotationFacts) -> Rotation:
    if not here.everywhere:
        return _keep(here, "Gathering")
    if not here.stored:
        drawn = secret_of(here.cluster, here.requested, None)
        return Rotation(here.live, here.requested, "Drawing", draw=drawn)
    return Rotation(KeyRing(here.live.current, here.requested), here.requested, "Spreading")


def _take_up(here: RotationFacts) -> Rotation:
    keeps_current = here.kept and here.live.current.file != here.requested.file
    ring = KeyRing(here.live.current, here.requested) if keeps_current else KeyRing(here.requested)
    return Rotation(ring, here.requested, "Spreading")


def _switch(here: RotationFacts) -> Rotation:
    if not here.everywhere:
        return _keep(here, "Spreading")
    return Rotation(KeyRing(here.requested, here.live.current), here.requested, "Switching")


def _retire(here: RotationFacts) -> Rotation:
    if not here.everywhere:
        return _keep(here, "Switching")
    if not here.rewrapped:
        return _keep(here, "Rewrapping")
    return Rotation(KeyRing(here.live.current), here.requested, "Retiring")


def _rest(here: RotationFacts) -> Rotation:
    return _keep(here, "Settled")


Transition = tuple[Callable[[RotationFacts], bool], Callable[[RotationFacts], Rotation]]

TABLE: tuple[Transition, ...] = (
    (lambda s: s.live.keys == (s.requested,), _rest),
    # Before any wait for ready servers: none is ready without this key.
    (lambda s: s.locked_out, _take_up),
    (lambda s: s.live.other is None, _start),
    (lambda s: s.live.other == s.requested, _switch),
    # Servers have old and new; or the spec names a third key: the rotation in progress ends first.
    (lambda s: True, _retire),
)
"""Guard and action, first match; `_retire` serves both a finished switch and a change of mind."""


def pod_annotations(ring: KeyRing | None) -> dict[str, str]:
    """Return the annotation of a pod template with the key ring of its servers."""
    return {} if ring is None else {labels.UNSEAL_KEYS: str(ring)}
