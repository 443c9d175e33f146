"""Syncs files of a volume that is used as a store to the disk before success is reported.

Uses the standard library. Called by store.store. A file that is lost in a crash of the node is not
a snapshot.
"""

import os
from pathlib import Path


def settle(path: Path) -> None:
    """Wait until a file and its name are on the disk. Raises OSError."""
    for one in (path, path.parent):
        descriptor = os.open(one, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
