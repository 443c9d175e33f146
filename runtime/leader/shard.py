"""Shards of a fleet of objects, one per process: the shard of an object. Pure.

The shard depends only on the key. All processes agree on it, however old their caches are, and an
object that is deleted and created again stays in its shard. Objects that must be in one shard need
one key: that of the object to which they belong.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from runtime.types import ObjectKey

SHARDS_MAX: Final = 16
"""Maximum number of shards: the RBAC rules of a process list the Lease of each shard."""

KEYS_MEMORIZED: Final = 16_384


_GROUP = re.compile(r"([1-9][0-9]?) shards", re.ASCII)


@lru_cache(KEYS_MEMORIZED)
def shard_of(key: ObjectKey, count: int) -> int:
    """The index of the shard of an object.

    SHA-256 distributes keys evenly, and gives the same index in each process, release and language.
    """
    digest = hashlib.sha256(str(key).encode()).digest()
    return int.from_bytes(digest[:8], "big") % count


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shards; by default the only one, which owns all objects.

    Raises ValueError unless 0 <= index < count <= SHARDS_MAX.
    """

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count <= SHARDS_MAX:
            raise ValueError(
                f"no shard {self.index} of {self.count}: need 0 <= index < count <= {SHARDS_MAX}"
            )

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse "0/4", the first of four shards. Raises ValueError."""
        index, _, count = text.partition("/")
        if not all(
            number.isascii() and number.isdigit() and len(number) <= 2 for number in (index, count)
        ):
            raise ValueError(f"{text!r} is no shard, such as 0/4")
        return cls(int(index), int(count))

    @property
    def is_only(self) -> bool:
        """Whether there are no other shards."""
        return self.count == 1

    def owns(self, key: ObjectKey) -> bool:
        """Whether the object of this key belongs to this shard."""
        return self.is_only or shard_of(key, self.count) == self.index


def lease_of_shard(lease: str, index: int) -> str:
    """The name of the Lease on which the processes of one shard elect their leader.

    It does not contain the number of shards: the holder of the shared Lease does
    (`group_identity`).
    """
    return f"{lease}-shard-{index}"


def group_identity(count: int) -> str:
    """The holder identity of the Lease that all shards share, for that number of shards."""
    return f"{count} shards"


def count_of_group(holder: str) -> int:
    """The number of shards in the holder identity of a Lease; 1 if the holder is a process."""
    match = _GROUP.fullmatch(holder)
    return int(match[1]) if match else 1
