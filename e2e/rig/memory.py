"""The data of a node in memory, where there is room.

Nothing of it outlives the rig. On a disk, servers that sync each write, and programs that are read
from images, wait for everything else on the machine; where that takes a second, a leader is lost.
"""

from pathlib import Path

from e2e.rig.commands import run
from e2e.rig.layout import Layout
from e2e.rig.progress import Progress

# Bytes. Images and volumes of one rig take about two GiB.
ROOM = 8 << 30


def available(meminfo: str) -> int:
    """Return the bytes that can be used without swapping, by a text of /proc/meminfo (proc(5))."""
    rows = dict(line.split(":", 1) for line in meminfo.splitlines())
    return int(rows["MemAvailable"].split()[0]) << 10


def hold(layout: Layout, progress: Progress) -> None:
    """Mount memory over the folders that nothing is in yet. Raises RigError.

    Called by every `up`: what an earlier one mounted, or put on the disk, stays where it is. The
    teardown unmounts whatever is mounted below the folder of a rig.
    """
    folders = {
        layout.paths.containerd: "755",
        layout.paths.volumes: "755",
        layout.paths.etcd: "700",
    }
    empty = [one for one in folders if not one.is_mount() and not any(one.iterdir())]
    if not empty:
        return
    if available(Path("/proc/meminfo").read_text()) < ROOM:
        progress("its data is on disk: less than 8 GiB of memory are available")
        return
    for folder in empty:
        run("mount", "-t", "tmpfs", "-o", f"mode={folders[folder]}", layout.name, str(folder))
