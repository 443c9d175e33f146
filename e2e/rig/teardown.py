"""Removes all processes, mounts, cgroups, interfaces and files of one rig."""

import contextlib
import shutil
import signal
import socket
from pathlib import Path

from e2e.rig import cgroups, components, network
from e2e.rig.errors import RigError
from e2e.rig.layout import Layout
from e2e.rig.processes import ProcessTable, find_by_argument, send, wait_gone
from e2e.rig.progress import Progress

# Paths that are compiled into the programs; their content identifies the rig.
_SHIM = "containerd-shim-runc-v2"
_SHIM_SOCKETS = Path("/run/containerd/s")
_CNI_RESULTS = Path("/var/lib/cni/results")
_CONTAINER_LOGS = Path("/var/log/containers")
_DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins/kubelet.sock")
# Created by mount and umount, which kubelet runs.
_MOUNT_RUN = Path("/run/mount")
# Short, because the data is deleted and kube-apiserver would drain for a minute.
_GRACE = 0.3


def remove(layout: Layout, table: ProcessTable, progress: Progress) -> None:
    """Remove the rig; idempotent. Raises RigError if something cannot be removed."""
    order = [name for name in components.names(layout) if name != components.RUNTIME]
    extra = [name for name in table.names() if name not in order and name != components.RUNTIME]
    # kubelet first: it would restart the processes below. All get the signal at the same time.
    table.stop([*extra, *reversed(order)], _GRACE)
    if not layout.control_plane_only:
        table.stop([components.RUNTIME], _GRACE)
        sockets = _shim_sockets(layout)
        _end_pods(layout)
        for socket in sockets:
            socket.unlink(missing_ok=True)
        for mount in network.mounts_below(layout.paths.root):
            network.unmount(mount)
        network.remove(layout)
        if not cgroups.remove(layout.network_name):
            raise RigError(f"processes are still running in the cgroup {layout.network_name}")
        _sweep(layout)
    discard(layout.paths.root)
    progress(f"rig {layout.name} is gone")


def discard(folder: Path) -> None:
    """Remove the folder of a rig without mounts and processes.

    It is renamed first, so that a killed process leaves no folder that looks like a rig.
    """
    gone = folder.with_name(f".{folder.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.exists():
        folder.rename(gone)
        shutil.rmtree(gone)


def _end_pods(layout: Layout) -> None:
    shims = find_by_argument(_SHIM, str(layout.paths.containerd_socket))
    for identity in shims:
        send(identity, signal.SIGKILL)
    wait_gone(shims, 5.0)
    pods = cgroups.processes(layout.network_name)
    for identity in pods:
        send(identity, signal.SIGKILL)
    wait_gone(pods, 5.0)


def _shim_sockets(layout: Layout) -> list[Path]:
    tasks = layout.paths.containerd / "state" / "io.containerd.runtime.v2.task"
    sockets = []
    for file in tasks.glob("*/*/address"):
        with contextlib.suppress(OSError):
            sockets.append(Path(file.read_text().strip().removeprefix("unix://")))
    return [path for path in sockets if path.is_relative_to(_SHIM_SOCKETS)]


def _sweep(layout: Layout) -> None:
    for result in _CNI_RESULTS.glob(f"{layout.network_name}-*"):
        result.unlink(missing_ok=True)
    # containerd sets up the loopback of a pod under a name that all rigs share.
    sandboxes = layout.paths.containerd / "root" / "io.containerd.grpc.v1.cri" / "sandboxes"
    for sandbox in sandboxes.glob("*"):
        (_CNI_RESULTS / f"cni-loopback-{sandbox.name}-lo").unlink(missing_ok=True)
    if _CONTAINER_LOGS.exists():
        remove_links(_CONTAINER_LOGS, layout.paths.root)
    if not _somebody_listens(_DEVICE_PLUGINS):
        _DEVICE_PLUGINS.unlink(missing_ok=True)
    for file in (_CNI_RESULTS / "x", _SHIM_SOCKETS / "x", _DEVICE_PLUGINS):
        _remove_if_empty(file.parent)
        _remove_if_empty(file.parent.parent)
    _remove_if_empty(_CONTAINER_LOGS)
    _remove_if_empty(_MOUNT_RUN)


def remove_links(folder: Path, root: Path) -> None:
    """Remove the links in ``folder`` to files in ``root``.

    The kubelets of other rigs may remove their own links meanwhile.
    """
    for link in folder.iterdir():
        with contextlib.suppress(OSError):
            if link.readlink().is_relative_to(root):
                link.unlink()


def _somebody_listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
