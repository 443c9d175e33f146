"""Snapshots as OpenBao makes them, small, for tests that damage them."""

import gzip
import io
import json
import tarfile

from baoctl.jobs.snapshot.inspect import META, SEALED, STATE, SUMS


def members(state: bytes = b"x" * 5000, index: int = 7) -> dict[str, bytes]:
    """The files of a snapshot, in their order."""
    meta = {"Version": 1, "ID": "bolt-snapshot", "Index": index, "Term": 2, "Size": len(state)}
    return {META: json.dumps(meta).encode(), STATE: state, SUMS: b"s" * 140, SEALED: b"t" * 200}


def archive_of(files: dict[str, bytes]) -> bytes:
    """The archive of files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def snapshot(state: bytes = b"x" * 5000, index: int = 7) -> bytes:
    """A whole snapshot."""
    return archive_of(members(state, index))
