"""A reproducible .tar.gz file: no time, no owner. Pure.

Called by release.chart.archive and release.krew.
"""

import gzip
import io
import tarfile
from collections.abc import Iterable

BEST = 9
FAST = 1
"""Levels of compression; FAST is for content that is already compressed."""


def tarball(entries: Iterable[tuple[str, bytes, int]], level: int = BEST) -> bytes:
    """Pack entries (path, content, mode) in their order."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as target:
        for path, content, mode in entries:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), mode
            target.addfile(entry, io.BytesIO(content))
    return gzip.compress(tar.getvalue(), compresslevel=level, mtime=0)
