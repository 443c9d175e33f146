"""The static seal keys of a server, as one value for an annotation of the pod template.

Uses contracts.api.cluster.seal and contracts.naming.mount_paths. Built by
managers.bootstrap.seal.rotation, rendered by contracts.hcl.seals, mounted by
managers.bootstrap.seal.pod_part. Never contains a byte of a key: only an id, a file name, and for a
key of the user a fingerprint, which cannot be reversed.
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
"""Characters; two ids and two file names are much shorter."""
KEYS_SOUGHT = 32
"""Generations of keys that the operator searches if it does not know the key of the servers. Each
is a Secret that it reads by name, because it never lists Secrets."""
# The digits are limited: a user who may edit a pod template may write any number, and the operator
# reads every older key. A longer number is part of a file name of the user, such as a date.
_GENERATION = re.compile(rf"{KEY_FILE}-([1-9][0-9]{{0,2}})")


@dataclass(frozen=True, slots=True)
class UnsealKey:
    """One key: its permanent id, and its file in the folder of the keys.

    `fingerprint` identifies the content of a key of the user; "" for a key that the operator
    generated in an immutable Secret.
    """

    id: str
    file: str
    fingerprint: str = ""

    @property
    def uri(self) -> str:
        """The URI from which the server reads it."""
        return f"file://{UNSEAL}/{self.file}"

    @property
    def generation(self) -> int:
        """The number of a key that the operator generated, from 1, as in the name of its file."""
        match = _GENERATION.fullmatch(self.file)
        return int(match[1]) if match else 1

    def __str__(self) -> str:
        mark = f"@{self.fingerprint}" if self.fingerprint else ""
        return f"{self.id}={self.file}{mark}"


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of a server: the current one, with which it encrypts, and another for decryption.

    A server supports at most two (OpenBao 2.4.0, go-kms-wrapping static). `recovered`: the keys of
    the servers were unknown, so these are the two newest. The other key only decrypts, and never
    becomes the current one again.
    """

    current: UnsealKey
    other: UnsealKey | None = None
    recovered: bool = False

    @property
    def keys(self) -> tuple[UnsealKey, ...]:
        """All keys, the current one first."""
        return (self.current,) if self.other is None else (self.current, self.other)

    @property
    def newest(self) -> int:
        """The highest generation of its keys."""
        return max(key.generation for key in self.keys)

    def __str__(self) -> str:
        return ",".join([*map(str, self.keys), *([_RECOVERED] if self.recovered else [])])

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the result of `str`; None for any other text, also an empty one."""
        parts = _parse(text) if len(text) <= _TEXT_MAX else None
        return None if parts is None else cls(*parts)


# Every reconcile reads the same few key rings, and users may write any number of others.
@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[UnsealKey, UnsealKey | None, bool] | None:
    parts = text.split(",")
    recovered = parts[-1] == _RECOVERED
    matches = [_KEY.fullmatch(part) for part in (parts[:-1] if recovered else parts)]
    keys = [UnsealKey(m["id"], m["file"], m["fingerprint"] or "") for m in matches if m]
    if len(keys) != len(matches) or not 0 < len(keys) <= 2:
        return None
    return keys[0], keys[1] if len(keys) == 2 else None, recovered


def generated_file(generation: int) -> str:
    """Return the file of a key that the operator generated; `generation` counts from 1."""
    return KEY_FILE if generation == 1 else f"{KEY_FILE}-{generation}"


FIRST = KeyRing(UnsealKey(KEY_ID, KEY_FILE))
"""The keys of a new cluster whose spec names no key."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The desired keys of the pods now, and the next step towards the key of the spec.

    `draw` names the Secret in which the operator must generate a new key; `refusal` is the reason
    why the key of the spec cannot be used: the servers then keep their keys.
    """

    ring: KeyRing
    target: UnsealKey
    step: Step = "Settled"
    draw: str = ""
    refusal: Blocked | None = None
