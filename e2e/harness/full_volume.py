"""A full data volume: its content is kept, and nothing more can be written.

The volumes of the rig are folders of one file system without enforced sizes. So a small tmpfs with
a copy of the content is mounted over the folder. New mounts of the volume see the tmpfs, existing
ones do not. Needs root.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.rig.network import unmount
from runtime.builtin_kinds import PVC
from runtime.types import Resource

VOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
_ROOM = "1g"


class FullVolume:
    """The volume of one server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self) -> None:
        """Fill the free space."""
        used = _run("du", "--summarize", "--block-size=1", str(self._folder)).split()[0]
        self._resize(used)

    def free_space(self) -> None:
        """Free the space again."""
        self._resize(_ROOM)

    def _resize(self, size: str) -> None:
        _run("mount", "--options", f"remount,size={size}", str(self._folder))


@contextmanager
def full_volume(cluster: Cluster, pod: str) -> Iterator[FullVolume]:
    """Fill the data volume of a server, as seen by its next pod."""
    claim = cluster.api.get(PVC, cluster.namespace, names.claim_of_pod(pod))
    live = cluster.api.get(VOLUMES, None, claim["spec"]["volumeName"])
    folder = Path(live["spec"]["local"]["path"])
    kept = folder.with_name(f"{folder.name}-kept")
    _run("cp", "--archive", str(folder), str(kept))
    mode = f"{folder.stat().st_mode & 0o7777:o}"
    _run("mount", "-t", "tmpfs", "-o", f"size={_ROOM},mode={mode}", "full", str(folder))
    try:
        _run("cp", "--archive", f"{kept}/.", str(folder))
        volume = FullVolume(folder)
        volume.fill()
        yield volume
    finally:
        # Processes that use it keep it.
        unmount(str(folder))
        _run("rm", "--recursive", "--force", str(kept))


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
