"""Validates IP addresses. Pure, without imports of this repository: `baoctl --help` loads it."""

import ipaddress


def is_ip(text: str) -> bool:
    """Whether the text is an IPv4 or IPv6 address, without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
