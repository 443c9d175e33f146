"""Idle pods, from whose network namespaces a test connects, with their addresses and labels.

A NetworkPolicy selects pods by label and namespace, whatever they run. A socket belongs to the
network namespace of the thread that created it (setns(2)), so a test enters that of a pod only to
create sockets, or starts a process there.
"""

import ctypes
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from e2e.harness.kubernetes import Api, Object
from e2e.harness.waiting import until
from e2e.rig import Rig, cgroups
from e2e.rig.commands import run
from e2e.rig.images import PAUSE_IMAGE
from runtime.builtin_kinds import POD

Protocol = Literal["TCP", "UDP"]
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
# Timeout for dropped packets; a refusal arrives immediately, as an ICMP message.
_TIMEOUT_SECONDS = 3.0
# A query for the name `version.bind`, to which every DNS server responds (RFC 1035).
_QUESTION = bytes.fromhex("0001010000010000000000000776657273696f6e0462696e640000100003")


@dataclass(frozen=True, slots=True)
class NetworkNamespace:
    """The network of a pod, or of the node of a rig."""

    name: str
    address: str
    netns: str
    """The file of the network namespace."""

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Create the sockets of this thread in this network during the context."""
        with open("/proc/thread-self/ns/net") as before:
            with open(self.netns) as there:
                _enter(there.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def inside(self, *argv: str) -> list[str]:
        """Return `argv` as a command that runs in this network."""
        return ["nsenter", f"--net={self.netns}", *argv]

    def connect(self, address: str, port: int, seconds: float = _TIMEOUT_SECONDS) -> socket.socket:
        """Connect by TCP. Raises OSError."""
        with self.enter():
            sock = socket.socket()
        sock.settimeout(seconds)
        try:
            sock.connect((address, port))
        except OSError:
            sock.close()
            raise
        return sock

    def reaches(self, address: str, port: int, protocol: Protocol = "TCP") -> bool:
        """Whether a TCP connection is accepted, or a DNS query over UDP is answered."""
        try:
            if protocol == "TCP":
                self.connect(address, port).close()
            else:
                self._ask(address, port)
        except OSError:
            return False
        return True

    def _ask(self, address: str, port: int) -> None:
        with self.enter():
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sock:
            sock.settimeout(_TIMEOUT_SECONDS)
            sock.connect((address, port))
            sock.send(_QUESTION)
            sock.recv(512)

    @contextmanager
    def hold_address(self, address: str) -> Iterator[None]:
        """Add an address."""
        run(*self.inside("ip", "address", "add", f"{address}/32", "dev", "lo"))
        try:
            yield
        finally:
            run(*self.inside("ip", "address", "delete", f"{address}/32", "dev", "lo"))

    def listen(self, port: int, address: str = "") -> socket.socket:
        """Listen for TCP. The kernel completes connections without an accept."""
        with self.enter():
            sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address or self.address, port))
        sock.listen(64)
        return sock


@contextmanager
def echo_datagrams(network: NetworkNamespace, port: int) -> Iterator[None]:
    """Answer every datagram at a port, with itself."""
    with network.enter():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((network.address, port))

    def answer() -> None:
        while received := sock.recvfrom(512):
            content, sender = received
            if not content:
                return
            sock.sendto(content, sender)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield
    finally:
        # An empty datagram from its own address stops it.
        sock.sendto(b"", (network.address, port))
        thread.join(5.0)
        sock.close()


def _enter(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def node(rig: Rig) -> NetworkNamespace:
    """The network of the node itself."""
    return NetworkNamespace("the node", str(rig.layout.slot.node), str(rig.netns))


def network_of(rig: Rig, pod: Object) -> NetworkNamespace:
    """The network of a running pod."""
    metadata = pod["metadata"]
    pid = until(f"pod {metadata['name']} runs", lambda: _process_of(rig, metadata["uid"]), 20.0)
    name = f"{metadata['namespace']}/{metadata['name']}"
    return NetworkNamespace(name, str(pod["status"]["podIP"]), f"/proc/{pid}/ns/net")


def _process_of(rig: Rig, uid: str) -> int | None:
    """Find a process of a pod by its cgroup, which kubelet names after the UID."""
    for process in cgroups.processes(rig.layout.network_name):
        try:
            if uid in Path(f"/proc/{process.pid}/cgroup").read_text():
                return process.pid
        except OSError:
            continue
    return None


def make_idle_pod(api: Api, namespace: str, name: str, labels: Mapping[str, str]) -> None:
    """Create an idle pod."""
    container = {
        "name": "nothing",
        "image": PAUSE_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    spec = {
        "containers": [container],
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
    }
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    api.create(POD, {"metadata": metadata, "spec": spec})


def await_network(api: Api, namespace: str, name: str) -> NetworkNamespace:
    """Wait until the pod has its address, and return its network."""

    def pod_with_address() -> Object | None:
        pod = api.get(POD, namespace, name)
        return pod if (pod.get("status") or {}).get("podIP") else None

    return network_of(api.rig, until(f"pod {name} has an address", pod_with_address, 60.0))
