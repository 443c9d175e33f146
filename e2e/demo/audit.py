"""Counts requests in the audit log of a kube-apiserver (audit.k8s.io/v1, level Metadata). Pure.

A request is counted once, by its auditID: a watch is logged at its start and at its end. Lease
renewals are not counted: they continue as long as an operator runs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from contracts.naming.installation import CONTROLLER, NAMESPACE
from e2e.demo.objects import Object

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# A POST that stores nothing: the operator requests the token of its login.
NOT_STORED = frozenset({"serviceaccounts/token"})
OPERATOR_ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
OPERATOR_AGENT = "openbao-operator"


@dataclass(frozen=True, slots=True)
class Request:
    """One completed request; ``at`` is the time of its arrival, UTC.

    ``resource`` is the plural name with its subresource (pods/log), or the path of a
    non-resource request.
    """

    id: str
    at: datetime
    user: str
    agent: str
    verb: str
    resource: str
    code: int


@dataclass(slots=True)
class Tally:
    """Requests by kind. ``by_resource`` counts pairs of verb and resource."""

    reads: int = 0
    watches: int = 0
    writes: int = 0
    not_found: int = 0
    refused: int = 0
    by_verb: Counter[str] = field(default_factory=Counter)
    by_resource: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All requests: reads, watches opened and writes."""
        return self.reads + self.watches + self.writes


def parse(lines: Iterable[bytes]) -> Iterator[Request]:
    """Parse the log; an incomplete last line is ignored."""
    audit_ids: set[str] = set()
    for line in lines:
        if not line.endswith(b"\n"):
            return
        event: Object = orjson.loads(line)
        if event["auditID"] not in audit_ids:
            audit_ids.add(event["auditID"])
            yield _request(event)


def _request(event: Object) -> Request:
    about = event.get("objectRef") or {}
    resource = about.get("resource") or event["requestURI"].split("?", 1)[0]
    if about.get("subresource"):
        resource = f"{resource}/{about['subresource']}"
    return Request(
        id=event["auditID"],
        at=datetime.fromisoformat(event["requestReceivedTimestamp"]),
        user=event["user"].get("username", ""),
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        resource=resource,
        code=int((event.get("responseStatus") or {}).get("code", 0)),
    )


def is_operator(request: Request) -> bool:
    """Whether the operator sent it, from its pod or from a checkout."""
    return request.user == OPERATOR_ACCOUNT or request.agent.startswith(OPERATOR_AGENT)


def tally(requests: Iterable[Request], since: datetime, until: datetime) -> Tally:
    """Count the requests of the operator from ``since`` to ``until``."""
    counts = Tally()
    for request in requests:
        if not since <= request.at < until:
            continue
        if request.resource == "leases" or not is_operator(request):
            continue
        counts.by_verb[request.verb] += 1
        counts.by_resource[request.verb, request.resource] += 1
        if request.verb in WRITES and request.resource not in NOT_STORED:
            counts.writes += 1
        elif request.verb == "watch":
            counts.watches += 1
        else:
            counts.reads += 1
        if request.code == 404:
            counts.not_found += 1
        elif request.code >= 400:
            counts.refused += 1
    return counts
