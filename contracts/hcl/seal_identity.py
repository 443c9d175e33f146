"""The identity of the seal of a snapshot, as one string: type of the seal and id of its key.

Uses the API model and contracts.hcl.seals. Backups write it into manifests; restores and restore
tests compare it. It contains no secret. Equal strings do not prove equal keys: all generated keys
have the same id, and only the server can distinguish them. Different strings usually mean different
keys.
"""

from contracts.api.cluster.seal import Unseal
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.hcl.seals import seal_stanza
from contracts.unseal_keys import KeyRing

WORD_MAX = 128
_KEY_ATTRIBUTES = (
    "current_key_id",
    "key_name",
    "kms_key_id",
    "crypto_key",
    "key_id",
    "key_label",
)
"""The attributes that name the key of a seal, for all seals; none of them is secret."""


def seal_identity(cluster: OpenBaoCluster) -> str:
    """Return a string such as `static:operator-generated-v1` or `awskms:alias/bao`.

    During a rotation of the static key it names the key with which the servers encrypt.
    """
    unseal = cluster.spec.unseal
    if unseal.type != "static":
        return f"{unseal.type}:{_key_of(unseal)}".rstrip(":")[:WORD_MAX]
    ring = KeyRing.parse(cluster.status.unseal.keys) if cluster.status.unseal else None
    if ring is None:
        return f"static:{_key_of(unseal)}"[:WORD_MAX]
    mark = f"@{ring.current.fingerprint}" if ring.current.fingerprint else ""
    return f"static:{ring.current.id}{mark}"[:WORD_MAX]


def _key_of(unseal: Unseal) -> str:
    try:
        attributes = seal_stanza(unseal).attributes
    except ValueError:
        return ""
    values = (attributes.get(name) for name in _KEY_ATTRIBUTES)
    return next((str(value) for value in values if value), "")
