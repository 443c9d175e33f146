"""Which keys of the static seal the servers of a cluster know, by every witness that there is.

Pure. Called by managers.bootstrap.seal.rotation, and by managers.cluster.observe.observer for the
names of the Secrets that are read.

| witness | what it tells | lost with |
|---|---|---|
| pod template, else status, else all pods | the very keys that servers know | the cluster object |
| Secrets of the namespace | the newest key, and the one before it | whoever deletes one |

Without the first witness data may be sealed by either of the two newest keys: a rotation draws the
next key only when one key is left, and starts to use it later. OpenBao encrypts with the current
key and decrypts with either, by the id that is stored with the data (tried on 2.4.0 and 2.7.2,
tests/integration/test_seal_keys_server.py). So servers get both, and no key has to be tried.
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

# A server that has a key for its data is open before this.
STARTS = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """What is seen of the servers of a cluster, before any Secret is read."""

    stateful_set: StatefulSetFacts | None
    pods: Sequence[PodFacts]
    holds_data: bool
    now: datetime | None = None

    @classmethod
    def of(cls, observed: Observed, *, initialized: bool = False) -> ServerEvidence:
        """Take them from what is observed."""
        data = initialized or observed.holds_data
        return cls(observed.stateful_set, observed.pods, data, observed.now)

    @property
    def shut(self) -> bool:
        """Every pod says that its server has data and is sealed.

        True for a moment whenever all of them start at once, too.
        """
        # A loop and no comprehension: this runs several times in every pass.
        for pod in self.pods:
            if not is_sealed(pod):
                return False
        return bool(self.pods)

    @property
    def stays_shut(self) -> bool:
        """They do, and none has started a moment ago: a first boot costs no look for other keys."""
        return self.shut and not any(
            pod.made and self.now and self.now - pod.made < STARTS for pod in self.pods
        )

    @property
    def undecided(self) -> bool:
        """Nobody serves with keys that would have to stay known to all."""
        return self.stateful_set is None and (not self.pods or self.shut)


def is_sealed(pod: PodFacts) -> bool:
    """Tell whether a server says that it has data and cannot open it."""
    registration = pod.registration
    return not pod.ready and registration.sealed is True and registration.initialized is True


def misnamed(cluster: str, unseal: Unseal, live: str, secrets: Mapping[str, SecretFacts]) -> bool:
    """Tell whether the first key, the only one looked at for a new cluster, has another id."""
    if unseal.secret_name is not None or KeyRing.parse(live) is not None:
        return False
    first = secrets.get(names.unseal_key_secret(cluster))
    return first is not None and first.key_id not in {"", unseal.static_key().current_key_id}


def live_ring(servers: ServerEvidence, status: str) -> KeyRing | None:
    """What the servers know: by the pod template, else the status, else all pods; None if unknown.

    Whoever may edit a StatefulSet may write any row into it. One that shares no key with the row
    of the last status, which every pod still carries, was never ours: each row keeps one key of the
    row before it. The same holds for a status that somebody restored from a backup.
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
    """The row that all pods carry; None if they carry none, or several."""
    rings = {pod.unseal for pod in pods}
    return KeyRing.parse(rings.pop()) if len(rings) == 1 else None


def secret_of(cluster: str, key: UnsealKey, supplied: str | None) -> str:
    """The Secret that holds a key."""
    return supplied or names.unseal_key_secret(cluster, key.generation)


def seeks(unseal: Unseal, servers: ServerEvidence, status: str) -> bool:
    """Tell whether every key Secret is looked for: data exists and it is not known who opens it."""
    if unseal.type != "static" or unseal.secret_name is not None or not servers.holds_data:
        return False
    return servers.undecided or servers.stays_shut or live_ring(servers, status) is None


def unseal_secrets(
    cluster: str, unseal: Unseal, live: str, *, seeking: bool = False
) -> tuple[str, ...]:
    """The Secrets that decisions about the seal look at; `live`: the row that servers know."""
    if unseal.secret_name is not None:
        return (unseal.secret_name,)
    if unseal.type != "static":
        return ()
    ring = KeyRing.parse(live)
    newest = ring.newest if ring is not None else 0
    if seeking:
        generations = {*range(1, max(KEYS_SOUGHT, newest + 1) + 1)}
    elif ring is None:
        generations = {1}
    elif unseal.static_key().current_key_id in {key.id for key in ring.keys}:
        generations = {key.generation for key in ring.keys}
    else:
        # A new key is asked for: every older one is looked at, so that no id is ever used twice.
        generations = {*range(1, newest + 2)}
    return tuple(names.unseal_key_secret(cluster, number) for number in sorted(generations))


def stored(
    cluster: str, unseal: Unseal, observed: Observed, live: KeyRing | None
) -> tuple[UnsealKey, ...]:
    """The keys of the operator's own that lie in the namespace, the newest first.

    A Secret that somebody restored by hand may have lost the id of its key. The newest is then
    what the spec names, and an older one has the id that a key has by default. A server that gets a
    wrong id stays sealed, and changes nothing.
    """
    if unseal.secret_name is not None:
        return ()
    last = max(KEYS_SOUGHT, live.newest + 1 if live is not None else 0)
    secrets = {
        number: observed.secrets[name]
        for number in range(last, 0, -1)
        if (name := names.unseal_key_secret(cluster, number)) in observed.secrets
    }
    taken = {one.key_id for one in secrets.values()}
    free = dict.fromkeys((unseal.static_key().current_key_id, KEY_ID))
    nameless = iter([one for one in free if one not in taken])
    ids = {number: one.key_id or next(nameless, "") for number, one in secrets.items()}
    return tuple(UnsealKey(key, generated_file(number)) for number, key in ids.items() if key)


def opening(
    live: KeyRing | None, keys: Sequence[UnsealKey], servers: ServerEvidence, key_id: str
) -> KeyRing | None:
    """What servers get to open the data; None when no key of it lies in the namespace.

    `live`: what the first witness tells; `keys` those that are stored, the newest first; `key_id`
    the id of the spec. A status that is older than the newest key was itself restored, or is a
    write behind: the newest two open what it opens.
    """
    if not keys or (live is not None and not servers.undecided):
        return live
    if live is not None and live.newest >= keys[0].generation:
        return live
    if not servers.holds_data:
        # Any key will do, under the id that it has.
        other = UnsealKey(key_id, keys[0].file)
        return KeyRing(next((key for key in keys if key.id == key_id), other))
    older = next((key for key in keys if key.generation == keys[0].generation - 1), None)
    return KeyRing(keys[0], older, recovered=older is not None)
