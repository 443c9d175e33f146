"""Syncs the files of a store on a volume to the disk before the job reports success.

Uses the standard library. Called by store.store. Without it, a crash of the node may lose the file.
"""

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Sync a file and its directory to the disk. Raises OSError."""
    for name in (path, path.parent):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
