"""Operations on the files of a volume that obstore does not have: sync and clean-up.

Uses contracts.naming. Called by store.store. Without a sync to the disk, a crash of the node may
lose a file for which the job reported success. obstore writes an upload into a file with the suffix
`#` and a number, renames it at the end, and never lists it. A killed job leaves that file.
"""

import os
from contextlib import suppress
from pathlib import Path

from contracts.naming import snapshot_keys


def sync_file(path: Path, volume: Path) -> None:
    """Sync a file of a volume to the disk. Raises OSError."""
    for name in paths_to_sync(path, volume):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def paths_to_sync(path: Path, volume: Path) -> tuple[Path, ...]:
    """Return the file and its directories up to the volume: the first file creates them."""
    return (path, *(folder for folder in path.parents if folder.is_relative_to(volume)))


def delete_partial_files(root: Path, prefix: str) -> list[str]:
    """Delete the files of interrupted uploads of one cluster; return their names.

    `root` is the folder of the store, and `prefix` the prefix of the keys, with a final slash.
    """
    deleted: list[str] = []
    for file in (root / prefix).glob("*#*"):
        name, _, number = file.name.rpartition("#")
        key = prefix + name.removesuffix(snapshot_keys.MANIFEST_SUFFIX)
        if number.isdecimal() and snapshot_keys.parse(key) is not None:
            with suppress(OSError):
                file.unlink()
                deleted.append(file.name)
    return deleted
