"""Addresses of the metadata servers of clouds, which provide the credentials of a machine. Pure.

Called by the code that connects to an address that a user sets, and by the NetworkPolicy of profile
Hardened. Most clouds use a link-local address; METADATA contains the others. Sources: the
documentation of AWS (IMDS, EKS Pod Identity), Google (metadata server over IPv6), Azure
(168.63.129.16), Alibaba, Akamai and Scaleway (data sources of cloud-init), and the SDK of Oracle.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(ranges: Iterable[str]) -> tuple[Network, ...]:
    return tuple(map(ipaddress.ip_network, ranges))


LINK_LOCAL: Final = _networks(("169.254.0.0/16", "fe80::/10"))
METADATA: Final = _networks(
    (
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.0/24",  # Oracle, the former cloud: 192.0.0.192
        "fd00:42::42/128",  # Scaleway
        "fd00:100::100:200/128",  # Alibaba
        "fd00:a9fe:a9fe::1/128",  # Akamai
        "fd00:c1::a9fe:a9fe/128",  # Oracle
        "fd00:ec2::/32",  # AWS
        "fd20:ce::/32",  # Google
    )
)


def is_metadata(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an address is that of a metadata server in METADATA."""
    return any(address.version == network.version and address in network for network in METADATA)
