"""Assigns a number to each rig, from which its addresses are derived.

Numbers are assigned under a lock and stored in one file, so that networks never overlap.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import orjson

from e2e.rig.errors import RigError
from e2e.rig.locks import hold_lock
from e2e.rig.paths import Cache, write_atomically
from e2e.rig.progress import Progress, silent

SLOTS = 200
# Names become part of netns, cgroup and CNI names; interfaces are named by number instead.
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_NODES = IPv4Network("10.213.0.0/16")
_PODS = IPv4Network("10.244.0.0/16")
_SERVICES = IPv4Network("10.112.0.0/12")
# Below the ephemeral ports of Linux, so that no outgoing connection uses one of them.
_FIRST_PORT = 21000
_ROUTES = Path("/proc/net/route")
PORTS_PER_SLOT = 10


@dataclass(frozen=True, slots=True)
class Slot:
    """The number of a rig, and the addresses derived from it."""

    index: int

    @property
    def link(self) -> IPv4Network:
        """The /30 between host and node."""
        return _subnet(_NODES, 30, self.index * 64)

    @property
    def host(self) -> IPv4Address:
        """The host's end of the link."""
        return self.link[1]

    @property
    def node(self) -> IPv4Address:
        """The node's end of the link: API server, kubelet and DNS listen here."""
        return self.link[2]

    @property
    def pods(self) -> IPv4Network:
        """Pod addresses, a /24."""
        return _subnet(_PODS, 24, self.index)

    @property
    def services(self) -> IPv4Network:
        """Service addresses, a /20."""
        return _subnet(_SERVICES, 20, self.index)

    @property
    def api_service(self) -> IPv4Address:
        """The address of the Service ``kubernetes``."""
        return self.services[1]

    @property
    def interface(self) -> str:
        """The host end of the veth pair; at most 15 characters (Linux)."""
        return f"baorig{self.index}"

    @property
    def ports(self) -> range:
        """Ports on 127.0.0.1 for a control plane without a namespace."""
        first = _FIRST_PORT + self.index * PORTS_PER_SLOT
        return range(first, first + PORTS_PER_SLOT)


def _subnet(network: IPv4Network, prefix: int, number: int) -> IPv4Network:
    step = 1 << (32 - prefix)
    return IPv4Network((int(network.network_address) + number * step, prefix))


def choose(taken: Mapping[str, int], name: str, routes: Iterable[IPv4Network]) -> int:
    """Return the number of ``name``: its current one, or the lowest free one.

    A number is free when no rig has it and none of its networks overlaps a route of the host.
    Raises RigError if none is free.
    """
    if name in taken:
        return taken[name]
    foreign = list(routes)
    used = set(taken.values())
    for index in range(SLOTS):
        slot = Slot(index)
        mine = (slot.link, slot.pods, slot.services)
        if index not in used and not any(net.overlaps(route) for net in mine for route in foreign):
            return index
    raise RigError(f"no free network for rig {name}: {len(taken)} rigs exist, see `status --all`")


def parse_routes(table: str) -> list[IPv4Network]:
    """Parse /proc/net/route (little-endian hexadecimal), without the default route."""
    networks = []
    for line in table.splitlines()[1:]:
        fields = line.split()
        target, mask = (int.from_bytes(bytes.fromhex(fields[i]), "little") for i in (1, 7))
        if mask:
            networks.append(IPv4Network((target, mask.bit_count())))
    return networks


def claim(cache: Cache, name: str, progress: Progress = silent) -> Slot:
    """Assign a number to ``name`` until ``release``. Raises RigError on a bad name."""
    if not NAME.fullmatch(name):
        raise RigError(f"rig name {name!r}: must be at most 31 lower-case letters, digits and -")
    with hold_lock(cache.locks / "slots.lock", progress, "rig numbers"):
        taken = assignments(cache)
        index = choose(taken, name, parse_routes(_ROUTES.read_text()))
        _store(cache, {**taken, name: index})
    return Slot(index)


def release(cache: Cache, name: str, progress: Progress = silent) -> None:
    """Free the number of ``name``."""
    with hold_lock(cache.locks / "slots.lock", progress, "rig numbers"):
        taken = assignments(cache)
        if taken.pop(name, None) is not None:
            _store(cache, taken)


def assignments(cache: Cache) -> dict[str, int]:
    """Return the assigned numbers by rig name."""
    path = cache.rigs / "slots.json"
    if not path.exists():
        return {}
    return {str(name): int(index) for name, index in orjson.loads(path.read_bytes()).items()}


def _store(cache: Cache, taken: Mapping[str, int]) -> None:
    cache.rigs.mkdir(parents=True, exist_ok=True)
    write_atomically(cache.rigs / "slots.json", orjson.dumps(dict(taken)))
