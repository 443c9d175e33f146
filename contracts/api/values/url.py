"""Requirements of a URL that a user writes, as patterns for CEL and for the operator alike.

Uses contracts.api.values.pattern. Called by the rules about endpoints. A user who names an address
makes a pod of ours connect to it, so the pod's own machine, its link, the places where clouds keep
the credentials of machines, and spellings that hide any of them are refused.
"""

from contracts.api.values.pattern import Pattern

_HOST = r"([A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
ENDPOINT = Pattern(rf"^(https?|s3)://{_HOST}(/[^\s?#]*)?$")
"""A scheme, a host, and at most a port and a path: no user, no query, no fragment."""
HTTPS = Pattern(rf"^https://{_HOST}(/[^\s?#]*)?$")
"""The same for https alone."""
WEB = Pattern(rf"^https?://{_HOST}(/[^\s#]*)?$")
"""A page that is posted to: it may have a query."""
LOCAL = Pattern(
    r"(?i)^[a-z0-9]+://(([^/:]*\.)?localhost\.?(:|/|$)|127\.|0\.|169\.254\.|"
    r"\[(::|0*:0*:|fe[89a-f]|ff|0*64:0*ff9b:|2002:|2001:0*:))"
)
"""The machine itself, its link, or an IPv4 address inside of an IPv6 one."""
CLOUD = Pattern(
    r"(?i)^[a-z0-9]+://([^/:\[]*\.)?(metadata|metadata\.google\.internal|metadata\.goog|"
    r"instance-data(\.[a-z0-9-]+)*\.internal|instance-data|"
    r"metadata\.tencentyun\.com|100\.100\.100\.200|168\.63\.129\.16|192\.0\.0\.192|"
    r"\[fd00:0*ec2:[0-9a-f:.]*\]|\[fd20:0*ce:[0-9a-f:.]*\])\.?(:|/|$)"
)
"""Where a cloud serves credentials to its machines, besides the addresses of the link."""
NUMERIC = Pattern(r"(?i)^[a-z0-9]+://([^/:\[]*\.)?(0x[0-9a-f]*|[0-9]+)\.?(:|/|$)")
"""A host whose last part is a number: some readers take it for an IPv4 address."""
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
PLAIN_IPV4 = Pattern(rf"^[A-Za-z0-9]+://({_OCTET}\.){{3}}{_OCTET}(:|/|$)")
"""An IPv4 address in its one unambiguous spelling."""


def is_elsewhere(url: str) -> bool:
    """Whether the host of a URL is neither local, nor a cloud's, nor of an ambiguous spelling."""
    ambiguous = NUMERIC.found_in(url) and not PLAIN_IPV4.found_in(url)
    return not (ambiguous or LOCAL.found_in(url) or CLOUD.found_in(url))


def is_elsewhere_cel(url: str) -> str:
    """CEL for the same."""
    return (
        f"!{LOCAL.cel(url)} && !{CLOUD.cel(url)} && (!{NUMERIC.cel(url)} || {PLAIN_IPV4.cel(url)})"
    )
