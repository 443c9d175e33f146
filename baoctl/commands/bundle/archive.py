"""Packs a support archive, and writes it to a file.

Uses tarfile and gzip. Called by baoctl.commands.bundle.bundle. The archive is reproducible: entries
are sorted, and have no time and no owner.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ENTRY_MODE: Final = 0o600


def archive_bytes(files: Mapping[str, str], folder: str) -> bytes:
    """Return a tar.gz archive with these files in a directory."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, text in sorted(files.items()):
            content = text.encode()
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(content), _ENTRY_MODE
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def write_archive(target: Path, content: bytes, *, force: bool) -> None:
    """Write a file atomically; only its owner may read it.

    Raises FileExistsError if the target exists and `force` is false, and other OSErrors.
    """
    # With mode 0600, in the directory of the target, so that the rename is on one file system.
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name}.", delete=False
    ) as file:
        temporary = Path(file.name)
        try:
            file.write(content)
            file.flush()
            if force:
                temporary.replace(target)
            else:
                _link(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def _link(temporary: Path, target: Path) -> None:
    # Unlike a rename, a link fails if the target exists.
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # The file system does not support hard links.
        if target.exists():
            raise FileExistsError(target) from None
        temporary.replace(target)
