"""Checks that the content of Secrets is in no log, event, status or ConfigMap.

Runs at the end of a scenario, so Secrets that were deleted before are not checked.
"""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from e2e.harness.kubernetes import Api
from runtime.builtin_kinds import CONFIG_MAP, EVENT, JOB, POD, SECRET, STATEFUL_SET
from runtime.types import Object

KINDS = (BACKUPS, CLUSTERS, CONFIG_MAP, EVENT, JOB, POD, RESTORES, STATEFUL_SET)
# Shorter values are names and numbers, which occur everywhere.
SHORTEST = 16
_PUBLIC = (".crt", "-crt", "_crt", ".pub", "address", "namespace", "username")


@dataclass(frozen=True, slots=True)
class Marker:
    """A unique part of a secret value, and its source."""

    source: str
    text: bytes


def markers(secrets: Iterable[Object]) -> Iterator[Marker]:
    """Return the longest line of each secret value, as plain text, hex and base64."""
    for secret in secrets:
        for key, encoded in (secret.get("data") or {}).items():
            value = base64.b64decode(encoded)
            if key.endswith(_PUBLIC) or value.startswith((b"http", b"-----BEGIN CERT")):
                continue
            source = f"Secret {secret['metadata']['name']}, {key}"
            line = max(value.split(b"\n"), key=len)
            forms = {line, line.hex().encode(), base64.b64encode(value)[:64].rstrip(b"=")}
            yield from (Marker(source, text) for text in forms if len(text) >= SHORTEST)


def leaks(api: Api, namespaces: Iterable[str], logs: Iterable[Path]) -> list[str]:
    """Return which secret was found where, without its value; empty if there are no leaks."""
    places: list[tuple[str, bytes]] = [(log.name, log.read_bytes()) for log in logs]
    all_markers: list[Marker] = []
    for namespace in namespaces:
        all_markers += markers(api.list(SECRET, namespace))
        for kind in KINDS:
            for live in api.list(kind, namespace):
                where = f"{kind.kind} {live['metadata']['name']}"
                places.append((where, orjson.dumps(live)))
    return sorted(
        {f"{marker.source} in {where}" for marker in all_markers for where, text in places
         if marker.text in text}
    )  # fmt: skip
