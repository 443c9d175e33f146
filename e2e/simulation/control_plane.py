"""A control plane with the StatefulSet controller, in a network namespace of the caller."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from e2e.rig import Rig, binaries, components
from e2e.rig.commands import run
from e2e.rig.errors import RigError
from e2e.rig.packages import NODE, ensure
from e2e.rig.versions import CONTROL_PLANE, CONTROLLER_MANAGER

CONTROLLERS = ("statefulset", "garbagecollector", "disruption")
_CLONE_NEWNET = 0x40000000


@contextmanager
def control_plane(name: str) -> Iterator[Rig]:
    """Start a control plane without nodes; moves the process into its network namespace.

    Call it before the process starts threads: Linux moves only the calling thread. Raises RigError.
    """
    rig = Rig(name)
    ensure(NODE, rig.progress)
    servers = binaries.obtain(rig.cache, (*CONTROL_PLANE, CONTROLLER_MANAGER), rig.progress)
    enter_network()
    rig.up(control_plane=True)
    try:
        binaries.link(rig.layout, CONTROLLER_MANAGER.name, servers[-1])
        command = components.command(rig.layout, CONTROLLER_MANAGER.name)
        # The last value of a repeated flag is used: without nodes there is only this kubeconfig.
        argv = [
            *command.argv,
            f"--controllers={','.join(CONTROLLERS)}",
            f"--kubeconfig={rig.kubeconfig}",
        ]
        rig.table.start(CONTROLLER_MANAGER.name, replace(command, argv=argv))
        yield rig
    finally:
        rig.down()


def enter_network() -> None:
    """Move the calling thread into a new network namespace, with only the loopback interface."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise RigError(f"no network namespace can be made: {os.strerror(ctypes.get_errno())}")
    run("ip", "link", "set", "lo", "up")
