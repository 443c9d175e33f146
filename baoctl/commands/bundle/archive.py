"""The bytes of a support archive, and the file that it becomes.

Uses tarfile and gzip. Called by baoctl.commands.bundle.bundle. The same files make the same bytes:
entries are sorted and carry no time and no owner.
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
    """Return a tar.gz file with these files in a folder."""
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
    """Write a file that only its owner may read, complete or not at all.

    Raises FileExistsError when something has that name, unless force; OSError.
    """
    # Made with mode 0600, in the same folder, so that the rename cannot cross a file system.
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name}.", delete=False
    ) as file:
        made = Path(file.name)
        try:
            file.write(content)
            file.flush()
            if force:
                made.replace(target)
            else:
                _link(made, target)
        finally:
            made.unlink(missing_ok=True)


def _link(made: Path, target: Path) -> None:
    # Unlike a rename, it fails when the name was taken in the meantime.
    try:
        target.hardlink_to(made)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no links.
        if target.exists():
            raise FileExistsError(target) from None
        made.replace(target)
