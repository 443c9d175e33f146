"""Parts of a fleet of objects, each for one process: which part an object belongs to. Pure.

Ownership is a function of the key alone. No process can be mistaken about it, however old its
caches are, and an object that is deleted and created again stays where it was. So objects that are
to be handled together need one key: that of the object which they are about.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from runtime.types import ObjectKey

SHARDS_MAX: Final = 16
"""The rights of a process name the Lease of each shard."""

KEYS_MEMORIZED: Final = 16_384


_GROUP = re.compile(r"([1-9][0-9]?) shards", re.ASCII)


@lru_cache(KEYS_MEMORIZED)
def shard_of(key: ObjectKey, count: int) -> int:
    """The number of the shard, from 0, that an object belongs to.

    SHA-256 spreads keys evenly, and gives the same number in each process, release and language.
    """
    digest = hashlib.sha256(str(key).encode()).digest()
    return int.from_bytes(digest[:8], "big") % count


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shards; by default the only one, which owns everything.

    Raises ValueError unless 0 <= index < count <= SHARDS_MAX.
    """

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count <= SHARDS_MAX:
            raise ValueError(f"no shard {self.index} of {self.count}, of at most {SHARDS_MAX}")

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "0/4", the first of four. Raises ValueError."""
        index, _, count = text.partition("/")
        if not all(one.isascii() and one.isdigit() and len(one) <= 2 for one in (index, count)):
            raise ValueError(f"{text!r} is no shard")
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

    It does not tell of how many: `group_identity` does, in the Lease of all.
    """
    return f"{lease}-shard-{index}"


def group_identity(count: int) -> str:
    """The holder of the Lease of all shards, as long as they are that many."""
    return f"{count} shards"


def count_of_group(holder: str) -> int:
    """Of how many shards a Lease tells by its holder; 1 where that is a process."""
    match = _GROUP.fullmatch(holder)
    return int(match[1]) if match else 1
