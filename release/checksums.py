"""The checksums of the files of a release, in the format of `sha256sum`."""

import hashlib
from pathlib import Path

FILE = "SHA256SUMS"


def checksums(folder: Path) -> str:
    """Return a line per file of a folder, sorted by name, without the file of checksums."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != FILE)
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )
