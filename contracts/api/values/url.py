"""Patterns for URLs in a spec, for CEL and for the operator.

Uses contracts.api.values.pattern. Called by the rules about endpoints. A pod of the operator
connects to the URL that a user sets, so the patterns reject loopback and link-local addresses, the
addresses of cloud metadata services, and ambiguous spellings of any of them.
"""

from contracts.api.values.pattern import Pattern

_HOST = r"([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
ENDPOINT = Pattern(rf"^(https?|s3)://{_HOST}(/[^\s?#]*)?$")
"""A scheme, a host, an optional port and an optional path; no user, query or fragment."""
HTTPS = Pattern(rf"^https://{_HOST}(/[^\s?#]*)?$")
"""Like ENDPOINT, for https only."""
WEB = Pattern(rf"^https?://{_HOST}(/[^\s#]*)?$")
"""The URL of an HTTP audit device, which may have a query."""
LOCAL = Pattern(
    r"(?i)^[a-z0-9]+://(([^/:]*\.)?localhost\.?(:|/|$)|127\.|0\.|169\.254\.|"
    r"\[(::|0*:0*:|fe[89a-f]|ff|0*64:0*ff9b:|2002:|2001:0*:))"
)
"""A loopback or link-local address, or an IPv4 address embedded in an IPv6 address."""
CLOUD = Pattern(
    r"(?i)^[a-z0-9]+://([^/:\[]*\.)?(metadata|metadata\.google\.internal|metadata\.goog|"
    r"instance-data(\.[a-z0-9-]+)*\.internal|instance-data|"
    r"metadata\.tencentyun\.com|100\.100\.100\.200|168\.63\.129\.16|192\.0\.0\.192|"
    r"\[fd00:0*ec2:[0-9a-f:.]*\]|\[fd20:0*ce:[0-9a-f:.]*\])\.?(:|/|$)"
)
"""A cloud metadata service that has no link-local address."""
NUMERIC = Pattern(r"(?i)^[a-z0-9]+://([^/:\[]*\.)?(0x[0-9a-f]*|[0-9]+)\.?(:|/|$)")
"""A host whose last label is a number: some parsers read it as an IPv4 address."""
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
PLAIN_IPV4 = Pattern(rf"^[A-Za-z0-9]+://({_OCTET}\.){{3}}{_OCTET}(:|/|$)")
"""An IPv4 address in its unambiguous spelling."""


def is_elsewhere(url: str) -> bool:
    """Return whether the host of a URL is not local, not a metadata service, and not ambiguous."""
    ambiguous = NUMERIC.found_in(url) and not PLAIN_IPV4.found_in(url)
    return not (ambiguous or LOCAL.found_in(url) or CLOUD.found_in(url))


def is_elsewhere_cel(url: str) -> str:
    """Return CEL for `is_elsewhere`."""
    return (
        f"!{LOCAL.cel(url)} && !{CLOUD.cel(url)} && (!{NUMERIC.cel(url)} || {PLAIN_IPV4.cel(url)})"
    )
