"""The network namespace of a rig, and the veth pair that connects it to the host.

The namespace is bound to a file in the folder of the rig. On the host it adds one interface and its
routes, which are removed with the interface.
"""

import ctypes
import os
from pathlib import Path

from e2e.rig.commands import run
from e2e.rig.errors import RigError
from e2e.rig.layout import Layout

_FORWARD = "/proc/sys/net/ipv4/ip_forward"
_BRIDGE_CALLS = "/proc/sys/net/bridge/bridge-nf-call-iptables"
_MNT_DETACH = 2


def mounts_below(folder: Path) -> list[str]:
    """Return the mount points at or below ``folder``, deepest first."""
    root = str(folder)
    points = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        # The kernel writes spaces and other special characters as octal escapes.
        point = line.split(" ")[1].encode().decode("unicode_escape")
        if point == root or point.startswith(root + "/"):
            points.append(point)
    return sorted(points, reverse=True)


def unmount(point: str) -> None:
    """Detach a mount, even if it is in use (umount2(2), MNT_DETACH). Raises RigError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(point.encode(), _MNT_DETACH) != 0:
        raise RigError(f"cannot unmount {point}: {os.strerror(ctypes.get_errno())}")


def create(layout: Layout) -> None:
    """Create the namespace, the veth pair and the routes; existing ones are kept."""
    netns = layout.paths.netns
    if not mounts_below(netns):
        netns.touch()
        run("unshare", f"--net={netns}", "true")
    slot, interface = layout.slot, layout.slot.interface
    if not Path(f"/sys/class/net/{interface}").exists():
        run("ip", "link", "add", interface, "type", "veth", "peer", "eth0", "netns", str(netns))
    run("ip", "address", "replace", f"{slot.host}/30", "dev", interface)
    run("ip", "link", "set", interface, "up")
    for network in (slot.pods, slot.services):
        run("ip", "route", "replace", str(network), "via", str(slot.node), "dev", interface)
    inside = (
        f"ip link set lo up && ip address replace {slot.node}/30 dev eth0 && ip link set eth0 up"
        f" && ip route replace default via {slot.host} && echo 1 >{_FORWARD}"
        # Without it a pod that reaches itself or a neighbor through a Service gets a response
        # from another address.
        f" && if [ -e {_BRIDGE_CALLS} ]; then echo 1 >{_BRIDGE_CALLS}; fi"
    )
    run(*layout.inside("sh", "-c", inside))


def bridge_filter_works() -> bool:
    """Whether bridged packets pass iptables on this kernel (br_netfilter is loaded)."""
    return Path(_BRIDGE_CALLS).exists()


def remove(layout: Layout) -> None:
    """Remove the veth pair. The namespace ends with its mount and its last process."""
    interface = layout.slot.interface
    there = Path(f"/sys/class/net/{interface}")
    if there.exists():
        try:
            run("ip", "link", "delete", interface)
        except RigError:
            # The kernel removes a namespace asynchronously, with its end of the veth pair.
            if there.exists():
                raise
