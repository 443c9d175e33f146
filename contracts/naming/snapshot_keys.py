"""Object keys of snapshots: builds them, and recognizes the operator's keys in a store.

Uses the standard library. Called by managers.backup, which chooses a key, and by the jobs, which
list, keep and delete snapshots by key. Format: `[PREFIX/]NAMESPACE/CLUSTER/[TAG-]TIME-ID.snap`,
with TIME like 2026-01-15T03-00-00Z (RFC 3339 in UTC, dashes for colons) and ID of 8 lower-case hex
digits. The manifest of a snapshot has the same key with the suffix `.json`.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

SUFFIX: Final = ".snap"
MANIFEST_SUFFIX: Final = ".json"
KEY_MAX = 1024
"""Limit of S3, GCS and Azure in bytes; the parts are ASCII."""
PRE_UPGRADE: Final = "pre-upgrade"
"""Tag of a snapshot that was taken before an upgrade; retention never deletes it."""

_TIME = "%Y-%m-%dT%H-%M-%SZ"
_ID = re.compile(r"[0-9a-f]{8}")
_TAG = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_FILE = re.compile(
    r"(?:(?P<tag>[a-z](?:[-a-z0-9]*[a-z0-9])?)-)?"
    r"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z)-(?P<id>[0-9a-f]{8})\.snap"
)


@dataclass(frozen=True, slots=True)
class BackupKey:
    """The parts of a key; `at` is in UTC and has whole seconds."""

    prefix: str
    """Without slashes at either end; "" for none."""
    namespace: str
    cluster: str
    at: datetime
    id8: str
    tag: str = ""

    @property
    def text(self) -> str:
        """The key of the snapshot."""
        tag = f"{self.tag}-" if self.tag else ""
        file = f"{tag}{self.at.strftime(_TIME)}-{self.id8}{SUFFIX}"
        return f"{list_prefix(self.prefix, self.namespace, self.cluster)}{file}"

    @property
    def manifest(self) -> str:
        """The key of its manifest."""
        return manifest_key(self.text)

    @property
    def place(self) -> tuple[str, str, str]:
        """Prefix, namespace and cluster: the same for all snapshots of a cluster in a target."""
        return self.prefix, self.namespace, self.cluster

    def may_delete_with(self, stored: "BackupKey") -> bool:
        """Return whether the retention of the job that stored a key may delete this one.

        It deletes only keys of its own place, and none with a tag.
        """
        return not self.tag and self.place == stored.place


def make(prefix: str, namespace: str, cluster: str, at: datetime, id8: str, tag: str = "") -> str:
    """Return the key of a snapshot that is taken at a time (aware, any time zone).

    Raises ValueError for parts that `parse` would not accept, and for a key longer than KEY_MAX.
    """
    if at.tzinfo is None:
        raise ValueError("the time of a backup key needs a time zone")
    if not _NAME.fullmatch(namespace) or not _NAME.fullmatch(cluster):
        raise ValueError(f"not a namespace and a cluster: {namespace[:80]!r}, {cluster[:80]!r}")
    if not _ID.fullmatch(id8) or (tag and not _TAG.fullmatch(tag)):
        raise ValueError(f"not an id and a tag of a backup key: {id8[:20]!r}, {tag[:40]!r}")
    moment = at.astimezone(UTC).replace(microsecond=0, fold=0)
    key = BackupKey(prefix.strip("/"), namespace, cluster, moment, id8, tag).text
    if len(key.encode()) > KEY_MAX:
        raise ValueError(f"a backup key of {len(key.encode())} bytes; the limit is {KEY_MAX}")
    return key


def parse(key: str) -> BackupKey | None:
    """Parse a key from its end; None for a key in another format."""
    *rest, namespace, cluster, file = ["", "", *key.split("/")]
    parts = _FILE.fullmatch(file)
    if parts is None or not _NAME.fullmatch(namespace) or not _NAME.fullmatch(cluster):
        return None
    try:
        at = datetime.strptime(parts["time"], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    parsed = BackupKey("/".join(rest[2:]), namespace, cluster, at, parts["id"], parts["tag"] or "")
    return parsed if parsed.text == key else None


def list_prefix(prefix: str, namespace: str, cluster: str) -> str:
    """Return the prefix of all keys of a cluster. The final slash excludes cluster "ab" for "a"."""
    trimmed = prefix.strip("/")
    return f"{trimmed}/{namespace}/{cluster}/" if trimmed else f"{namespace}/{cluster}/"


def manifest_key(key: str) -> str:
    """Return the key of the manifest of a snapshot."""
    return key + MANIFEST_SUFFIX


def snapshot_key(manifest: str) -> str | None:
    """Return the key of the snapshot of a manifest; None for any other key."""
    if not manifest.endswith(SUFFIX + MANIFEST_SUFFIX):
        return None
    return manifest.removesuffix(MANIFEST_SUFFIX)
