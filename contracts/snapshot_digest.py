"""Digests of the content of a snapshot, which a restore test compares after the restore.

Uses the standard library. Called by the backup job, which writes them into the manifest, and by the
restore test job, which computes them for the restored server. Pure.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

MOUNTS_PATH = "sys/mounts"
DEFAULT_CANARY = "sys/policies/acl/openbao-operator-backup"
"""The path to read if the spec names no canary: the backup role may read it in every cluster."""

# The fields of a mount that never change; a user may tune its settings.
_IDENTITY = ("type", "uuid", "accessor")


def mounts_digest(mounts: Mapping[str, Any]) -> str:
    """Return the digest of path and identity of all secret engines, "sha256:HEX".

    `mounts` is `data` of the answer of sys/mounts (OpenBao 2.4.0).
    """
    identities = {
        path: {name: mount.get(name) for name in _IDENTITY}
        for path, mount in mounts.items()
        if isinstance(mount, Mapping)
    }
    return content_digest(identities)


def content_digest(content: Mapping[str, Any]) -> str:
    """Return the digest of `data` of an answer, "sha256:HEX", independent of the order of keys.

    Short or guessable content can be derived from it, so a canary must not be secret.
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
