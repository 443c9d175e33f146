"""A snapshot is validated while it is streamed, in chunks of any size."""

import gzip
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baoctl.jobs.snapshot.inspect import META, SEALED, STATE, SUMS, Archive, Meta, NotASnapshot
from tests.gen.snapshots import archive_of, members, snapshot

WHOLE = snapshot(random.Random(1).randbytes(20_000))


def read(content: bytes, piece: int = 1 << 16) -> Meta:
    archive = Archive()
    for start in range(0, len(content), piece):
        archive.feed(content[start : start + piece])
    return archive.finish()


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=30_000))
def test_the_size_of_the_chunks_does_not_matter(piece: int) -> None:
    assert read(WHOLE, piece) == Meta(index=7, term=2, state_size=20_000)


def test_a_state_that_is_much_larger_than_its_archive_is_accepted() -> None:
    assert read(snapshot(b"\0" * 30_000_000)).state_size == 30_000_000


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=len(WHOLE) - 1))
def test_a_truncated_snapshot_is_rejected(length: int) -> None:
    with pytest.raises(NotASnapshot):
        read(WHOLE[:length])


@settings(deadline=None)
@given(st.integers(min_value=10, max_value=len(WHOLE) - 1), st.integers(min_value=1, max_value=255))
def test_a_damaged_snapshot_is_rejected(place: int, change: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= change
    try:
        read(bytes(damaged))
    except NotASnapshot:
        return
    # A change of unused codes does not change the restored content.
    assert gzip.decompress(damaged) == gzip.decompress(WHOLE)


def without(name: str) -> bytes:
    return archive_of({file: content for file, content in members().items() if file != name})


@pytest.mark.parametrize("name", [META, STATE, SUMS, SEALED])
def test_a_snapshot_without_one_of_its_files_is_rejected(name: str) -> None:
    with pytest.raises(NotASnapshot):
        read(without(name))


@pytest.mark.parametrize(
    "content",
    [
        archive_of({**members(), STATE: b"short"}),
        archive_of({**members(), META: b"{}"}),
        archive_of({**members(), META: b"[" * 8000}),
        archive_of({**members(), META: b'{"Index": 1e999, "Term": 1, "Size": 1}'}),
        archive_of({**members(), SUMS: b"s" * 9000}),
        archive_of({**members(), "more": b"x"}),
        archive_of(dict(reversed(members().items()))),
        gzip.compress(b"not a tar archive" * 100),
        gzip.compress(b""),
        WHOLE + WHOLE,
        WHOLE + b"x",
        b"not gzip",
        b"",
    ],
    ids=[
        "size", "meta", "deep", "infinite", "sums", "more", "order", "no-tar", "empty-tar", "twice",
        "tail", "no-gzip", "nothing",
    ],
)  # fmt: skip
def test_other_content_is_rejected(content: bytes) -> None:
    with pytest.raises(NotASnapshot):
        read(content)
