"""What is asked of a URL that a user writes, as patterns for CEL and for the operator alike.

Uses contracts.api.pattern. Called by the rules about endpoints. Whoever names an address makes a
pod of ours talk to it, so the pod's own machine, its link and spellings that hide them are refused.
"""

from contracts.api.pattern import Pattern

ENDPOINT = Pattern(
    r"^(https?|s3)://([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])"
    r"(:[0-9]{1,5})?(/[^\s?#]*)?$"
)
"""A scheme, a host, and at most a port and a path: no user, no query, no fragment."""
LOCAL = Pattern(
    r"(?i)^[a-z0-9]+://(localhost|[^/:]*\.localhost|127\.|0\.|169\.254\.|"
    r"\[(::|0*:0*:|fe[89ab]))"
)
"""The machine itself, its link, or an IPv4 address inside of an IPv6 one."""
NUMERIC = Pattern(r"(?i)^[a-z0-9]+://([^/:\[]*\.)?(0x[0-9a-f]*|[0-9]+)(:|/|$)")
"""A host whose last part is a number: some readers take it for an IPv4 address."""
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
PLAIN_IPV4 = Pattern(rf"^[A-Za-z0-9]+://({_OCTET}\.){{3}}{_OCTET}(:|/|$)")
"""An IPv4 address in its one unambiguous spelling."""


def is_elsewhere(url: str) -> bool:
    """Whether the host of a URL is neither local nor of an ambiguous spelling."""
    ambiguous = NUMERIC.found_in(url) and not PLAIN_IPV4.found_in(url)
    return not LOCAL.found_in(url) and not ambiguous


def is_elsewhere_cel(url: str) -> str:
    """CEL for the same."""
    return f"!{LOCAL.cel(url)} && (!{NUMERIC.cel(url)} || {PLAIN_IPV4.cel(url)})"
