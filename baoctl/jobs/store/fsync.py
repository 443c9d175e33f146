"""Syncs the files of a store on a volume to the disk before the job reports success.

Uses the standard library. Called by store.store. Without it, a crash of the node may lose the file.
"""

import os
from pathlib import Path


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
