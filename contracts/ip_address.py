"""Validates IP addresses as CEL does. Pure.

Uses the standard library, because `baoctl --help` loads it. Source of the rules: k8s.io/apiserver,
pkg/cel/library, ip.go and cidr.go.
"""

import ipaddress
import re

_PREFIX_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")


def is_ip(text: str) -> bool:
    """Return whether the text is an IPv4 or IPv6 address, without a zone.

    An IPv4-mapped IPv6 address is not valid: the network handles `::ffff:0.0.0.0` as IPv4.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and getattr(address, "ipv4_mapped", None) is None


def is_cidr(text: str) -> bool:
    """Return whether the text is a CIDR; host bits are allowed, a netmask is not."""
    address, _, length = text.partition("/")
    if not is_ip(address) or not _PREFIX_LENGTH.fullmatch(length):
        return False
    return int(length) <= ipaddress.ip_address(address).max_prefixlen
