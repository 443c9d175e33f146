"""Keeps the data of a node in memory (tmpfs), if enough is available.

The data are deleted with the rig. On a busy disk, servers that sync each write, and binaries that
are read from images, wait for other processes; a delay of a second costs the leadership.
"""

from pathlib import Path

from e2e.rig.commands import run
from e2e.rig.layout import Layout
from e2e.rig.progress import Progress

# Bytes. Images and volumes of one rig take about two GiB.
ROOM = 8 << 30


def available(meminfo: str) -> int:
    """Return the available bytes (MemAvailable) from the text of /proc/meminfo (proc(5))."""
    rows = dict(line.split(":", 1) for line in meminfo.splitlines())
    return int(rows["MemAvailable"].split()[0]) << 10


def hold(layout: Layout, progress: Progress) -> None:
    """Mount a tmpfs on each folder that is empty. Raises RigError.

    Called by each `up`: existing mounts and data on disk are kept. The teardown unmounts everything
    below the folder of a rig.
    """
    folders = {
        layout.paths.containerd: "755",
        layout.paths.volumes: "755",
        layout.paths.etcd: "700",
    }
    empty = [folder for folder in folders if not folder.is_mount() and not any(folder.iterdir())]
    if not empty:
        return
    if available(Path("/proc/meminfo").read_text()) < ROOM:
        progress("its data is on disk: less than 8 GiB of memory are available")
        return
    for folder in empty:
        run("mount", "-t", "tmpfs", "-o", f"mode={folders[folder]}", layout.name, str(folder))
