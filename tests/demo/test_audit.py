"""Counting the operator's requests in an audit log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from e2e.demo.audit import OPERATOR_ACCOUNT, Request, is_operator, parse, tally
from e2e.demo.speed import AuditReader

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LATER = START + timedelta(seconds=10)


def line(identity: str, **changes: Any) -> bytes:
    """One line of a log as kube-apiserver 1.36 writes it, with the parsed fields only."""
    event: dict[str, Any] = {
        "kind": "Event",
        "auditID": identity,
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/x/configmaps/y?fieldManager=z",
        "verb": "patch",
        "user": {"username": OPERATOR_ACCOUNT},
        "userAgent": "openbao-operator",
        "objectRef": {"resource": "configmaps", "namespace": "x", "name": "y"},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2026-01-01T12:00:01.123456Z",
        **changes,
    }
    return orjson.dumps({key: item for key, item in event.items() if item is not None}) + b"\n"


def test_a_request_is_parsed() -> None:
    (request,) = parse([line("1", objectRef={"resource": "pods", "subresource": "status"})])
    assert request == Request(
        id="1",
        at=datetime(2026, 1, 1, 12, 0, 1, 123456, tzinfo=UTC),
        user=OPERATOR_ACCOUNT,
        agent="openbao-operator",
        verb="patch",
        resource="pods/status",
        code=200,
    )


def test_a_request_without_a_resource_has_its_path() -> None:
    (request,) = parse([line("1", objectRef=None, requestURI="/openid/v1/jwks?x=1", verb="get")])
    assert request.resource == "/openid/v1/jwks"


def test_a_watch_that_started_and_ended_is_one_request() -> None:
    both = [
        line("1", verb="watch", stage="ResponseStarted"),
        line("1", verb="watch", stage="ResponseComplete"),
    ]
    counts = tally(parse(both), START, LATER)
    assert (counts.total, counts.watches) == (1, 1)


@pytest.mark.parametrize("size", [0, 1, 40])
def test_a_reader_skips_a_line_that_began_before_it(tmp_path: Path, size: int) -> None:
    """A long line is written in parts, and a reader may start between two of them."""
    log, late = tmp_path / "audit.log", line("2")
    log.write_bytes(line("1") + late[:size])
    reader = AuditReader(log)
    with log.open("ab") as end:
        end.write(late[size:] + line("3"))
    assert reader.count(START, LATER).total == (1 if size else 2)


def test_an_incomplete_line_is_ignored() -> None:
    assert [item.id for item in parse([line("1"), line("2")[:-20]])] == ["1"]


def test_requests_are_counted_by_kind() -> None:
    lines = [
        line("1", verb="create", responseStatus={"code": 201}),
        line("2", verb="patch"),
        line("3", verb="delete", responseStatus={"code": 404}),
        line("4", verb="get", responseStatus={"code": 404}),
        line("5", verb="list"),
        line("6", verb="watch"),
        line("7", verb="patch", responseStatus={"code": 409}),
    ]
    counts = tally(parse(lines), START, LATER)
    assert (counts.total, counts.writes, counts.reads, counts.watches) == (7, 4, 2, 1)
    assert (counts.not_found, counts.refused) == (2, 1)
    assert counts.by_verb["patch"] == 2
    assert counts.by_resource["patch", "configmaps"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"objectRef": {"resource": "leases"}, "verb": "update"}, id="a lease"),
        pytest.param({"user": {"username": "admin"}, "userAgent": "kubectl"}, id="another user"),
        pytest.param({"requestReceivedTimestamp": "2026-01-01T11:59:59.999999Z"}, id="before"),
        pytest.param({"requestReceivedTimestamp": "2026-01-01T12:00:10.000000Z"}, id="after"),
    ],
)
def test_requests_of_others_and_of_other_times_are_not_counted(changes: dict[str, Any]) -> None:
    assert tally(parse([line("1", **changes)]), START, LATER).total == 0


@pytest.mark.parametrize(
    ("user", "agent", "expected"),
    [
        (OPERATOR_ACCOUNT, "anything", True),
        ("admin", "openbao-operator/1.0", True),
        ("admin", "kubectl/v1.36.3", False),
        ("system:serviceaccount:kube-system:openbao-operator-controller", "other", False),
    ],
)
def test_the_operator_is_identified_by_its_account_or_user_agent(
    user: str, agent: str, expected: bool
) -> None:
    request = Request("1", START, user, agent, "get", "pods", 200)
    assert is_operator(request) is expected
