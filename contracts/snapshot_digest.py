"""Digests of the content of a snapshot, which a restore test compares after the restore.

Uses the standard library. Called by the job of a backup, which writes them into the manifest, and
by the job of a restore test, which reads the same from the restored server. Pure.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

MOUNTS_PATH = "sys/mounts"
DEFAULT_CANARY = "sys/policies/acl/openbao-operator-backup"
"""What is read when the spec names no canary: the role that reads it may read it everywhere."""

# Of a mount, what stays the same as long as it is the same one; its settings may be tuned.
_KNOWN_BY = ("type", "uuid", "accessor")


def mounts_digest(mounts: Mapping[str, Any]) -> str:
    """The digest of the secret engines, "sha256:HEX": where each one is, and which one it is.

    `mounts` is `data` of the answer of sys/mounts (OpenBao 2.4.0).
    """
    identities = {
        path: {name: mount.get(name) for name in _KNOWN_BY}
        for path, mount in mounts.items()
        if isinstance(mount, Mapping)
    }
    return content_digest(identities)


def content_digest(content: Mapping[str, Any]) -> str:
    """The digest of `data` of an answer, "sha256:HEX", whatever the order of its keys.

    It reveals short or guessable content to its readers: a canary is no secret.
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
