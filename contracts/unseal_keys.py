"""The keys of the static seal that a server knows, as one value that a pod template can carry.

Uses contracts.api.cluster.seal and contracts.naming.mount_paths. Made by
managers.bootstrap.seal.rotation, rendered by contracts.hcl.seals, mounted by
managers.bootstrap.seal.pod_part. Never holds a byte of a key: an id, a file name, and for a key
that the user brought a fingerprint, which cannot be reversed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from contracts.api.cluster.seal import KEY_FILE, KEY_ID
from contracts.api.cluster.status_unseal import Step
from contracts.naming.mount_paths import UNSEAL
from runtime.outcome import Blocked

_KEY = re.compile(r"(?P<id>[^=@,]+)=(?P<file>[^=@,]+)(?:@(?P<fingerprint>[0-9a-f]+))?")
_RECOVERED = "recovered"
_TEXT_MAX = 8192
"""Characters: two ids and two names of files have far fewer."""
KEYS_SOUGHT = 32
"""Generations of keys that are searched for when the one of the servers is unknown. Each is a
Secret that is read by its name, since Secrets are never listed."""
# A user who may edit a pod template may write any number, and every older key is read. A longer
# number is in the name of a file that a user chose, a date for example.
_GENERATION = re.compile(rf"{KEY_FILE}-([1-9][0-9]{{0,2}})")


@dataclass(frozen=True, slots=True)
class UnsealKey:
    """One key: its permanent id, and the file in the folder of the keys.

    `fingerprint` tells bytes apart that the user brought; "" for a key that the operator drew into
    an immutable Secret.
    """

    id: str
    file: str
    fingerprint: str = ""

    @property
    def uri(self) -> str:
        """Where the server reads it."""
        return f"file://{UNSEAL}/{self.file}"

    @property
    def generation(self) -> int:
        """Which key of the operator's own it is, from 1; the file tells."""
        match = _GENERATION.fullmatch(self.file)
        return int(match[1]) if match else 1

    def __str__(self) -> str:
        mark = f"@{self.fingerprint}" if self.fingerprint else ""
        return f"{self.id}={self.file}{mark}"


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of a server: the one that it encrypts with, and another one that it can read.

    The server knows no more than two (OpenBao 2.4.0, go-kms-wrapping static). `recovered`: the keys
    of the servers were unknown, so these are the two newest. The other one is
    only read, and never becomes the current one again.
    """

    current: UnsealKey
    other: UnsealKey | None = None
    recovered: bool = False

    @property
    def keys(self) -> tuple[UnsealKey, ...]:
        """All of them, the current one first."""
        return (self.current,) if self.other is None else (self.current, self.other)

    @property
    def newest(self) -> int:
        """The highest generation of its keys."""
        return max(key.generation for key in self.keys)

    def __str__(self) -> str:
        return ",".join([*map(str, self.keys), *([_RECOVERED] if self.recovered else [])])

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` wrote; None for anything else, such as no text at all."""
        parts = _parsed(text) if len(text) <= _TEXT_MAX else None
        return None if parts is None else cls(*parts)


# Every reconcile reads the same few key rings, and users may write any number of others.
@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[UnsealKey, UnsealKey | None, bool] | None:
    parts = text.split(",")
    recovered = parts[-1] == _RECOVERED
    matches = [_KEY.fullmatch(part) for part in (parts[:-1] if recovered else parts)]
    keys = [UnsealKey(m["id"], m["file"], m["fingerprint"] or "") for m in matches if m]
    if len(keys) != len(matches) or not 0 < len(keys) <= 2:
        return None
    return keys[0], keys[1] if len(keys) == 2 else None, recovered


def generated_file(generation: int) -> str:
    """The file of a key that the operator drew; `generation` counts from 1."""
    return KEY_FILE if generation == 1 else f"{KEY_FILE}-{generation}"


FIRST = KeyRing(UnsealKey(KEY_ID, KEY_FILE))
"""What a cluster starts with when its spec says nothing."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """What the pods are to know now, and why it is not yet what the spec asks for.

    `draw` names the Secret into which a new key is to be drawn; `refusal` says why the key of the
    spec cannot be had: the servers then keep the keys that they have.
    """

    ring: KeyRing
    target: UnsealKey
    step: Step = "Settled"
    draw: str = ""
    refusal: Blocked | None = None
