"""The layout of a rig: name, number, folder, addresses and mode. The rest is derived from it."""

import socket
from dataclasses import dataclass
from pathlib import Path

import orjson

from e2e.rig.errors import RigError
from e2e.rig.paths import RigPaths, write_atomically
from e2e.rig.slots import Slot

NODE_NAME = "rig-node"
API_PORT = 6443
ETCD_PORT = 2379


@dataclass(frozen=True, slots=True)
class Layout:
    """A rig. ``ports`` is empty for a node, else (API, etcd, etcd peer) on 127.0.0.1."""

    name: str
    slot: Slot
    paths: RigPaths
    ports: tuple[int, ...] = ()

    @property
    def control_plane_only(self) -> bool:
        """Whether only etcd and kube-apiserver run, on the loopback address of the host."""
        return bool(self.ports)

    @property
    def network_name(self) -> str:
        """The name of the pod network and of the cgroup."""
        return f"openbao-rig-{self.name}"

    @property
    def api_host(self) -> str:
        """The address of the API server."""
        return "127.0.0.1" if self.ports else str(self.slot.node)

    @property
    def api_port(self) -> int:
        """The port of the API server."""
        return self.ports[0] if self.ports else API_PORT

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.api_host}:{self.api_port}"

    @property
    def etcd(self) -> str:
        """The URL of etcd for clients."""
        return f"http://127.0.0.1:{self.ports[1] if self.ports else ETCD_PORT}"

    @property
    def etcd_peer(self) -> str:
        """The peer URL of etcd, which has no peers."""
        return f"http://127.0.0.1:{self.ports[2] if self.ports else ETCD_PORT + 1}"

    def bin(self, name: str) -> Path:
        """Return the path of a server of this rig."""
        return self.paths.bin / name

    def inside(self, *argv: str) -> list[str]:
        """Return ``argv`` as a command that runs in the network namespace of the rig.

        nsenter instead of ``ip netns exec``, which remounts /sys: the kubelet would not find its
        cgroups.
        """
        if self.control_plane_only:
            return list(argv)
        return ["nsenter", f"--net={self.paths.netns}", *argv]

    def save(self) -> None:
        """Save the values that later commands cannot derive."""
        state = {"index": self.slot.index, "ports": list(self.ports)}
        write_atomically(self.paths.state, orjson.dumps(state))


def load(name: str, paths: RigPaths) -> Layout | None:
    """Return the layout of an existing rig; None if there is none."""
    try:
        state = orjson.loads(paths.state.read_bytes())
    except FileNotFoundError:
        return None
    return Layout(name, Slot(int(state["index"])), paths, tuple(state["ports"]))


def free_ports(candidates: range, count: int) -> tuple[int, ...]:
    """Return the first ``count`` free ports of 127.0.0.1. Raises RigError."""
    ports: list[int] = []
    for port in candidates:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return tuple(ports)
    raise RigError(f"no {count} free ports in {candidates.start}-{candidates.stop - 1}")
