"""The files of a support archive and its manifest, from the objects and logs that were read.

Pure. Called by baoctl.commands.bundle.bundle. baoctl.commands.bundle.collect reads the input, and
baoctl.commands.bundle.secret_patterns recognizes secrets.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from baoctl.commands.bundle.secret_patterns import find_secrets, redact
from contracts.conditions.message import clean_message
from runtime.builtin_kinds import CONFIG_MAP
from runtime.limits.object_size import LAST_APPLIED
from runtime.types import Object, key_of

MANIFEST: Final = "MANIFEST.json"
FILES_MAX: Final = 32 << 20
"""Maximum bytes of all files of an archive."""
_UNSAFE_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9_.-]|^\.+")
_SECRET_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "labels",
    "ownerReferences",
)


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that is not in the archive, and the reason."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class SecretLocation:
    """A secret in a file: its line, from 1, and its kind."""

    file: str
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line} ({self.kind})"


@dataclass(frozen=True, slots=True)
class Collected:
    """The input of an archive. Objects have their kind; Secrets have only metadata."""

    cluster: Object
    objects: tuple[Object, ...] = ()
    secrets: tuple[Object, ...] = ()
    events: tuple[Object, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    """By file name, without its extension."""
    reports: Mapping[str, str] = field(default_factory=dict)
    """Output of other verbs, by file name."""
    unread: tuple[MissingPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files of an archive by name, without the manifest, and the missing parts."""

    files: Mapping[str, str]
    unread: tuple[MissingPart, ...] = ()
    redacted: tuple[SecretLocation, ...] = ()


def bundle_of(collected: Collected) -> Bundle:
    """Return the files of the archive, sorted by name; files beyond FILES_MAX are omitted."""
    files: dict[str, str] = {}
    unread = list(collected.unread)
    remaining = FILES_MAX
    for name, text in sorted(_files(collected)):
        size = len(text.encode())
        if size > remaining:
            unread.append(
                MissingPart(name, f"it has {size} bytes, and the archive has space for {remaining}")
            )
            continue
        remaining -= size
        files[name] = text
    return Bundle(files, tuple(unread))


def secrets_of(bundle: Bundle) -> tuple[SecretLocation, ...]:
    """Return every secret in the files, in their order."""
    return tuple(
        SecretLocation(name, match.line, match.kind)
        for name, text in bundle.files.items()
        for match in find_secrets(text)
    )


def redact_bundle(bundle: Bundle) -> Bundle:
    """Return the archive without the secrets, and a list of their locations."""
    files, locations = {}, []
    for name, text in bundle.files.items():
        files[name], matches = redact(text)
        locations += [SecretLocation(name, match.line, match.kind) for match in matches]
    return Bundle(files, bundle.unread, tuple(locations))


def manifest(bundle: Bundle, created: str, version: str) -> str:
    """Return the text of MANIFEST.json: each file with its SHA-256, and the missing parts."""
    return as_json(
        {
            "created": created,
            "client": version,
            "files": [
                {
                    "name": name,
                    "bytes": len(text.encode()),
                    "sha256": hashlib.sha256(text.encode()).hexdigest(),
                }
                for name, text in sorted(bundle.files.items())
            ],
            "unread": [
                {"what": clean_message(item.part), "why": redact(clean_message(item.reason))[0]}
                for item in sorted(bundle.unread, key=lambda item: (item.part, item.reason))
            ],
            "redacted": [
                {"file": redaction.file, "line": redaction.line, "kind": redaction.kind}
                for redaction in bundle.redacted
            ],
        }
    )


def as_json(value: Any) -> str:
    """Return a value as JSON with sorted keys, one scalar on each line."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _files(collected: Collected) -> Iterator[tuple[str, str]]:
    yield "cluster.json", as_json(_trim(collected.cluster))
    for obj in collected.objects:
        if obj.get("kind") == CONFIG_MAP.kind:
            yield from _config_map(obj)
        else:
            yield _object_file(obj), as_json(_trim(obj))
    yield "secrets.json", as_json([_secret(secret) for secret in _by_name(collected.secrets)])
    yield "events.json", as_json([_trim(event) for event in _by_name(collected.events)])
    for name, text in collected.logs.items():
        yield f"logs/{_segment(name)}.log", text
    for name, text in collected.reports.items():
        yield _segment(name), text


def _by_name(objects: Sequence[Object]) -> list[Object]:
    return sorted(objects, key=key_of)


def _object_file(obj: Object) -> str:
    kind = str(obj.get("kind")).lower()
    return f"objects/{_segment(kind)}/{_segment(key_of(obj).name)}.json"


def _config_map(obj: Object) -> Iterator[tuple[str, str]]:
    """Yield a ConfigMap with the sizes of its entries, and each entry as a file."""
    data = obj.get("data") or {}
    binary = obj.get("binaryData") or {}
    sizes = {key: len(str(value)) for key, value in (*data.items(), *binary.items())}
    summary = {**obj, "data": sizes}
    summary.pop("binaryData", None)
    yield _object_file(obj), as_json(_trim(summary))
    for key, value in data.items():
        yield f"configmaps/{_segment(key_of(obj).name)}/{_segment(key)}", str(value)


def _trim(obj: Object) -> Object:
    metadata = dict(obj.get("metadata") or {})
    metadata.pop("managedFields", None)
    annotations = dict(metadata.get("annotations") or {})
    # This annotation repeats the object, including the data of a Secret.
    annotations.pop(LAST_APPLIED, None)
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata}


def _secret(obj: Object) -> Object:
    """Return the metadata of a Secret. Values of annotations are omitted: they may repeat data."""
    metadata = obj.get("metadata") or {}
    metadata_shown = {name: metadata[name] for name in _SECRET_METADATA if name in metadata}
    return {"metadata": metadata_shown, "annotations": sorted(metadata.get("annotations") or ())}


def _segment(name: str) -> str:
    return _UNSAFE_CHARACTERS.sub("_", name) or "_"
