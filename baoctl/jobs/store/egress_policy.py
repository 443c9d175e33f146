"""Decides which addresses a store may have.

Uses contracts.cloud_metadata and contracts.ip_address; pure. Called by store.egress_proxy for each
connection, after its name is resolved. Users write the endpoint of a store, and a pod of the
operator connects to it. So the policy refuses loopback, link-local addresses, the metadata services
of clouds and the control plane of Kubernetes, in every notation.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from contracts.cloud_metadata import Network, is_metadata
from contracts.ip_address import is_ip

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

CONTROL_PLANE_PORTS: Final[Mapping[int, str]] = {
    2379: "etcd",
    2380: "etcd",
    6443: "an API server",
    10250: "a kubelet",
    10255: "a kubelet",
    10256: "kube-proxy",
    10257: "kube-controller-manager",
    10259: "kube-scheduler",
}
"""Ports of Kubernetes components ("Ports and Protocols" in the documentation of Kubernetes)."""

_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.ip_network("::/96")


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The addresses that are refused in addition to the reserved ones."""

    api_server: frozenset[Address] = frozenset()
    """Addresses of the Service of the API server; all their ports are refused."""
    api_server_ports: frozenset[tuple[Address, int]] = frozenset()
    """Endpoints of the API server; a store may use other ports of the same machines."""
    permitted: tuple[Network, ...] = field(default=())
    """Networks that are always allowed; for a process that is not in a pod."""

    def refusal(self, address: Address, port: int) -> str:
        """Return why a store may not have an address, for a message after "is"; "" if it may."""
        plain = unwrap_address(address)
        if any(plain in network for network in self.permitted if network.version == plain.version):
            return ""
        kind = _reserved(plain)
        if kind:
            return kind
        if plain in self.api_server or (plain, port) in self.api_server_ports:
            return "the API server"
        if port in CONTROL_PLANE_PORTS:
            return f"at port {port}, the port of {CONTROL_PLANE_PORTS[port]}"
        return ""


def policy_of(environ: Mapping[str, str], forbidden: tuple[str, ...]) -> EgressPolicy:
    """Return the policy of a pod: the API server of its environment, and the forbidden endpoints.

    Each of `forbidden` is ADDRESS:PORT. Raises ValueError for an invalid one.
    """
    hosts = environ.get("KUBERNETES_SERVICE_HOST", "")
    service = {ipaddress.ip_address(hosts)} if hosts and is_ip(hosts) else set()
    return EgressPolicy(frozenset(service), frozenset(map(_pair, forbidden)))


def unwrap_address(address: Address) -> Address:
    """Return the IPv4 address that is embedded in an IPv6 address, or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    for embedded in (address.ipv4_mapped, address.sixtofour):
        if embedded is not None:
            return embedded
    if address.teredo is not None:
        return address.teredo[1]
    carries = any(address in network for network in _NAT64) or address in _COMPATIBLE
    number = int(address) & 0xFFFFFFFF
    # :: and ::1 embed no IPv4 address.
    return ipaddress.IPv4Address(number) if carries and number > 1 else address


def _reserved(address: Address) -> str:
    if address.is_loopback or address.is_unspecified or address in _THIS_NETWORK:
        return "the pod itself"
    if address.is_link_local:
        return "a link-local address, where clouds serve the credentials of machines"
    if is_metadata(address):
        return "the metadata service of a cloud"
    if address.is_multicast:
        return "a multicast address"
    return ""


def _pair(text: str) -> tuple[Address, int]:
    host, _, port = text.rpartition(":")
    try:
        return ipaddress.ip_address(host.strip("[]")), int(port)
    except ValueError:
        raise ValueError(f"{text[:80]!r}: must be ADDRESS:PORT") from None
