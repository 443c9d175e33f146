"""Determines which keys of the static seal the servers have, from all available evidence.

Pure. Called by the other modules of this package, and by managers.cluster.observe for the names of
the Secrets to read.

| evidence | what it shows | lost with |
|---|---|---|
| pod template, else status, else all pods | the exact keys of the servers | the cluster object |
| Secrets of the namespace | the newest key, and the one before it | deletion of one |

Without the first evidence, either of the two newest keys may have sealed the data: a rotation
generates the next key only when one key is left, and starts to use it later. OpenBao encrypts with
the current key, and decrypts with the key whose id is stored with the data (tested on 2.4.0 and
2.7.2, tests/integration/test_seal_keys_server.py). So the servers get both keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.api.cluster.seal import KEY_ID, Unseal
from contracts.naming import names
from contracts.records.observed import Observed, PodFacts, StatefulSetFacts
from contracts.records.secrets import SecretFacts
from contracts.unseal_keys import KEYS_SOUGHT, KeyRing, UnsealKey, generated_file

# A server with a key for its data unseals within this time after its start.
STARTUP_TIME = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """Observed state of the servers of a cluster, without the content of Secrets."""

    stateful_set: StatefulSetFacts | None
    pods: Sequence[PodFacts]
    holds_data: bool
    now: datetime | None = None

    @classmethod
    def of(cls, observed: Observed, *, initialized: bool = False) -> ServerEvidence:
        """Return the evidence of an observed record. `initialized`: data exists per the status."""
        data = initialized or observed.holds_data
        return cls(observed.stateful_set, observed.pods, data, observed.now)

    @property
    def all_sealed(self) -> bool:
        """Whether every pod reports that its server has data and is sealed.

        Also true for a moment when all of them start at the same time.
        """
        # A loop is faster than a generator; this runs several times in every reconcile.
        for pod in self.pods:
            if not is_sealed(pod):
                return False
        return bool(self.pods)

    @property
    def all_stay_sealed(self) -> bool:
        """Whether all are sealed, and none has just started: a first boot needs no key search."""
        return self.all_sealed and not any(
            pod.creation_timestamp and self.now and self.now - pod.creation_timestamp < STARTUP_TIME
            for pod in self.pods
        )

    @property
    def has_no_key_ring(self) -> bool:
        """Whether no server runs with a key ring that must be kept."""
        return self.stateful_set is None and (not self.pods or self.all_sealed)


def is_sealed(pod: PodFacts) -> bool:
    """Return whether a server reports that it has data and is sealed."""
    registration = pod.registration
    return not pod.ready and registration.sealed is True and registration.initialized is True


def is_misnamed(
    cluster: str, unseal: Unseal, live: str, secrets: Mapping[str, SecretFacts]
) -> bool:
    """Return whether the first key has another id than that of the spec.

    Without a key ring of the servers, only the Secret of the first key was read.
    """
    if unseal.secret_name is not None or KeyRing.parse(live) is not None:
        return False
    first = secrets.get(names.unseal_key_secret(cluster))
    return first is not None and first.key_id not in {"", unseal.static_key().current_key_id}


def live_ring(servers: ServerEvidence, status: str) -> KeyRing | None:
    """Return the key ring of the pod template, else of the status, else of all pods, or None.

    A user who may edit a StatefulSet can write any ring into it. If every pod still has the ring of
    the last status, and the ring of the template shares no key with it, the operator did not write
    the template: each transition keeps one key. The same applies to a status that was restored from
    a backup.
    """
    stateful_set, last = servers.stateful_set, KeyRing.parse(status) if status else None
    live = KeyRing.parse(stateful_set.unseal) if stateful_set is not None else None
    if live is not None and (last is None or live.keys == last.keys):
        return live
    common = ring_of_pods(servers.pods)
    if live is None:
        if last is None or (common is not None and not {*common.keys} & {*last.keys}):
            return common
        return last
    if {*live.keys} & {*(last.keys if last else ())}:
        return live
    return last if common is not None and str(common) == str(last) else live


def ring_of_pods(pods: Iterable[PodFacts]) -> KeyRing | None:
    """Return the key ring that all pods have; None if they have none, or several."""
    rings = {pod.unseal for pod in pods}
    return KeyRing.parse(rings.pop()) if len(rings) == 1 else None


def secret_of(cluster: str, key: UnsealKey, supplied: str | None) -> str:
    """Return the name of the Secret that holds a key."""
    return supplied or names.unseal_key_secret(cluster, key.generation)


def needs_key_secrets(unseal: Unseal, servers: ServerEvidence, status: str) -> bool:
    """Return whether all key Secrets must be read: data exists and its key is unknown."""
    if unseal.type != "static" or unseal.secret_name is not None or not servers.holds_data:
        return False
    return servers.has_no_key_ring or servers.all_stay_sealed or live_ring(servers, status) is None


def unseal_secrets(
    cluster: str, unseal: Unseal, live: str, *, all_generations: bool = False
) -> tuple[str, ...]:
    """Return the names of the Secrets to read for the seal.

    `live`: the ring of the servers, as text. `all_generations`: include all keys that may exist.
    """
    if unseal.secret_name is not None:
        return (unseal.secret_name,)
    if unseal.type != "static":
        return ()
    ring = KeyRing.parse(live)
    newest = ring.newest if ring is not None else 0
    if all_generations:
        generations = {*range(1, max(KEYS_SOUGHT, newest + 1) + 1)}
    elif ring is None:
        generations = {1}
    elif unseal.static_key().current_key_id in {key.id for key in ring.keys}:
        generations = {key.generation for key in ring.keys}
    else:
        # The spec requests a new key: read all older ones, so that no id is reused.
        generations = {*range(1, newest + 2)}
    return tuple(names.unseal_key_secret(cluster, number) for number in sorted(generations))


def stored_keys(
    cluster: str, unseal: Unseal, observed: Observed, live: KeyRing | None
) -> tuple[UnsealKey, ...]:
    """Return the generated keys in the namespace, newest first.

    A Secret that a user restored may lack the id of its key. Then the newest key gets the id of the
    spec, and an older one the default id. With a wrong id a server stays sealed, and its data does
    not change.
    """
    if unseal.secret_name is not None:
        return ()
    last = max(KEYS_SOUGHT, live.newest + 1 if live is not None else 0)
    secrets = {
        number: observed.secrets[name]
        for number in range(last, 0, -1)
        if (name := names.unseal_key_secret(cluster, number)) in observed.secrets
    }
    used_ids = {secret.key_id for secret in secrets.values()}
    candidates = dict.fromkeys((unseal.static_key().current_key_id, KEY_ID))
    free_ids = iter([key_id for key_id in candidates if key_id not in used_ids])
    ids = {number: secret.key_id or next(free_ids, "") for number, secret in secrets.items()}
    return tuple(
        UnsealKey(key_id, generated_file(number)) for number, key_id in ids.items() if key_id
    )


def ring_for_data(
    live: KeyRing | None, keys: Sequence[UnsealKey], servers: ServerEvidence, key_id: str
) -> KeyRing | None:
    """Return the key ring that unseals the data; None if the namespace has no key for it.

    `live`: the ring of the first evidence. `keys`: the stored keys, newest first. `key_id`: the id
    in the spec. If the status is older than the newest key, it was restored or is one write behind;
    then the two newest keys unseal the data.
    """
    if not keys or (live is not None and not servers.has_no_key_ring):
        return live
    if live is not None and live.newest >= keys[0].generation:
        return live
    if not servers.holds_data:
        # Without data, any stored key can be used.
        newest = UnsealKey(key_id, keys[0].file)
        return KeyRing(next((key for key in keys if key.id == key_id), newest))
    older = next((key for key in keys if key.generation == keys[0].generation - 1), None)
    return KeyRing(keys[0], older, recovered=older is not None)
