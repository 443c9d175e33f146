"""The checksums of the files of a release, as `sha256sum --check` reads them."""

import hashlib
from pathlib import Path

FILE = "SHA256SUMS"


def checksums(folder: Path) -> str:
    """Return a line per file of a folder, sorted by name; the list itself is left out."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != FILE)
    return "".join(f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in files)
