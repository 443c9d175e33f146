"""Files of a volume that is used as a store: written to the disk before anything says so.

Uses the standard library. Called by stores. A file that a crash of the node takes back is not a
snapshot.
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
