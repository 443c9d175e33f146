"""The cgroup of a rig: the parent of its pods, so that kubelets do not remove pods of other rigs.

Supports the hierarchies of cgroup v1, v2, and hybrid mode.
"""

import contextlib
import os
import time
from pathlib import Path

from e2e.rig.processes import Identity, stat_of

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def hierarchies() -> list[Path]:
    """Return the root folder of every mounted cgroup hierarchy."""
    lines = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(fields[1]) for fields in lines if fields[2] in {"cgroup", "cgroup2"}]


def create(name: str) -> None:
    """Create the cgroup ``name`` in every hierarchy; the kubelet does not start without it."""
    for root in hierarchies():
        folder = root / name
        folder.mkdir(exist_ok=True)
        # v1: a new cpuset is empty and accepts no process until its CPUs and memory are set.
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if (root / setting).exists() and (root / "tasks").exists():
                (folder / setting).write_text((root / setting).read_text())
        # v2: children have only the controllers that their parent enables for them.
        controllers = root / "cgroup.controllers"
        if controllers.exists():
            controls = " ".join(f"+{controller}" for controller in controllers.read_text().split())
            for control in (root, folder):
                with contextlib.suppress(OSError):
                    (control / "cgroup.subtree_control").write_text(controls)


def processes(name: str) -> list[Identity]:
    """Return all running processes in the cgroup and its children."""
    pids: set[int] = set()
    for root in hierarchies():
        # os.walk ignores a cgroup that the kubelet removes meanwhile; Path.rglob raises.
        for folder, _, _ in os.walk(root / name):
            with contextlib.suppress(OSError):
                pids.update(int(line) for line in Path(folder, "cgroup.procs").read_text().split())
    boot = _BOOT_ID.read_text().strip()
    stats = [stat for pid in pids if (stat := stat_of(pid))]
    return [Identity(stat.pid, stat.start_ticks, boot) for stat in stats]


def remove(name: str, seconds: float = 5.0) -> bool:
    """Remove the cgroup and its children; False if a process is still in it after ``seconds``."""
    until = time.monotonic() + seconds
    while True:
        left = [root / name for root in hierarchies() if (root / name).exists()]
        for top in left:
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        if not any(top.exists() for top in left):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
