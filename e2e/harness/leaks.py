"""Nothing that is secret is said: what stands in Secrets stands in no log, event, status or file.

Looks at the end of a scenario, so Secrets that went before are not looked for.
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
# Shorter ones are names and numbers, and stand everywhere.
SHORTEST = 16
_PUBLIC = (".crt", "-crt", "_crt", ".pub", "address", "namespace", "username")


@dataclass(frozen=True, slots=True)
class Marker:
    """A piece of a secret value that nobody else would write, and where it is from."""

    source: str
    text: bytes


def markers(secrets: Iterable[Object]) -> Iterator[Marker]:
    """Of each value that is secret its longest line, as it is and as `data` carries it."""
    for secret in secrets:
        for key, encoded in (secret.get("data") or {}).items():
            value = base64.b64decode(encoded)
            if key.endswith(_PUBLIC) or value.startswith((b"http", b"-----BEGIN CERT")):
                continue
            source = f"Secret {secret['metadata']['name']}, {key}"
            line = max(value.split(b"\n"), key=len)
            found = {line, line.hex().encode(), base64.b64encode(value)[:64].rstrip(b"=")}
            yield from (Marker(source, text) for text in found if len(text) >= SHORTEST)


def leaks(api: Api, namespaces: Iterable[str], logs: Iterable[Path]) -> list[str]:
    """Say which secret stands where; nothing, if all is well. Never says the secret."""
    places: list[tuple[str, bytes]] = [(log.name, log.read_bytes()) for log in logs]
    wanted: list[Marker] = []
    for namespace in namespaces:
        wanted += markers(api.list(SECRET, namespace))
        for kind in KINDS:
            for live in api.list(kind, namespace):
                where = f"{kind.kind} {live['metadata']['name']}"
                places.append((where, orjson.dumps(live)))
    return sorted(
        {f"{marker.source} in {where}" for marker in wanted for where, text in places
         if marker.text in text}
    )  # fmt: skip
