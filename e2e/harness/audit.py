"""Reads and counts requests in the audit log of the API server."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

READS = frozenset({"get", "list", "watch"})
LEASES = "leases"
# Requests of informers: once per process, and again every few minutes.
INFORMER_VERBS = frozenset({"list", "watch"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One completed request.

    `at` is the time of arrival (RFC 3339, microseconds, UTC: sorts as text); `user` is "" for
    invalid credentials; the object fields are "" for non-resource requests, which have `uri` only.
    """

    at: str
    user: str
    agent: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    message: str
    uri: str
    group: str = ""
    """API group of the resource."""
    allowed_by: str = ""
    """Why RBAC permitted it: names one binding and its role."""
    impersonated_user: str = ""
    """The impersonated user name; "" without impersonation."""
    violation: str = ""
    """The violations of the strictest pod security level."""

    @property
    def writes(self) -> bool:
        """Whether it was a write. TokenRequests are not: the API server stores nothing."""
        return self.verb not in READS and not self.makes_token

    @property
    def makes_token(self) -> bool:
        """Whether it was a TokenRequest, as the operator sends to log in."""
        return (self.resource, self.subresource) == ("serviceaccounts", "token")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Verb, resource, subresource, name."""
        return self.verb, self.resource, self.subresource, self.name

    def __str__(self) -> str:
        what = "/".join(filter(None, (self.resource, self.namespace, self.name, self.subresource)))
        return f"{self.verb} {what or self.uri}: {self.code} {self.message}".rstrip()


class AuditLog:
    """The log of one rig, read from an offset."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self) -> int:
        """Return the current end of the log."""
        return self._path.stat().st_size if self._path.exists() else 0

    def since(self, mark: int, user: str | None = None) -> list[Entry]:
        """Return the entries after the mark, of all users or of one.

        A line is written after the response was sent, so the last one may be missing.
        """
        with self._path.open("rb") as log:
            # The offset may be inside of a long line, which is written in parts.
            log.seek(max(0, mark - 1))
            lines = log.read().split(b"\n")[1 if mark else 0 :]
        # The text after the last newline is an incomplete line, or empty.
        entries = [_entry(line) for line in lines[:-1] if line]
        return [entry for entry in entries if user is None or entry.user == user]


def _entry(line: bytes) -> Entry:
    event = orjson.loads(line)
    ref, status = event.get("objectRef") or {}, event.get("responseStatus") or {}
    notes = event.get("annotations") or {}
    return Entry(
        at=event["requestReceivedTimestamp"],
        user=event["user"].get("username", ""),
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        resource=ref.get("resource", ""),
        subresource=ref.get("subresource", ""),
        namespace=ref.get("namespace", ""),
        name=ref.get("name", ""),
        code=status.get("code", 0),
        message=status.get("message", ""),
        uri=event["requestURI"],
        group=ref.get("apiGroup", ""),
        impersonated_user=(event.get("impersonatedUser") or {}).get("username", ""),
        allowed_by=notes.get("authorization.k8s.io/reason", ""),
        violation=notes.get("pod-security.kubernetes.io/audit-violations", ""),
    )


def work(entries: Iterable[Entry]) -> list[Entry]:
    """Drop requests for leases, and those of informers."""
    return [e for e in entries if e.resource != LEASES and e.verb not in INFORMER_VERBS]


def writes(entries: Iterable[Entry]) -> list[Entry]:
    """Keep only writes, without those of leases."""
    return [e for e in entries if e.writes and e.resource != LEASES]


def refusals(entries: Iterable[Entry]) -> list[Entry]:
    """Keep only requests that RBAC or admission refused.

    Refusals for a namespace that is being deleted are dropped: they are not missing permissions.
    """
    return [e for e in entries if e.code == 403 and "being terminated" not in e.message]


def tally(entries: Iterable[Entry]) -> str:
    """Count by verb and resource, as text."""
    counted = Counter(
        f"{e.verb} {e.resource or e.uri}{'/' if e.subresource else ''}{e.subresource}"
        for e in entries
    )
    return ", ".join(f"{count} x {what}" for what, count in counted.most_common())
