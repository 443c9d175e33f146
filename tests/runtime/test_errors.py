"""runtime.errors: the class and the content of each error of the API server."""

from typing import Any

import orjson
import pytest

from runtime.errors import (
    MESSAGE_LIMIT,
    AlreadyExists,
    ApiError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    NamespaceTerminating,
    NotFound,
    ResourceVersionTooLarge,
    ServerError,
    TerminalError,
    TooManyRequests,
    Transient,
    TransportError,
    Unauthorized,
    api_error,
    status_error,
)
from runtime.testing.scripted import status_body

FIELD_CONFLICTS = {
    "causes": [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl" with subresource "scale" using apps/v1',
            "field": ".spec.replicas",
        },
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl" using v1 at 2030-01-01T00:00:00Z',
            "field": ".data.a",
        },
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "helm" using v1',
            "field": ".data.b",
        },
    ]
}


# The others are in refusals.json, with the bodies that a server sent (test_refusals).
CASES: dict[str, tuple[int, str, dict[str, Any], type[ApiError]]] = {
    "a malformed request": (400, "BadRequest", {}, BadRequest),
    "an expired token": (401, "Unauthorized", {}, Unauthorized),
    "fields of other managers": (409, "Conflict", FIELD_CONFLICTS, ApplyConflict),
    "a compacted version": (410, "Expired", {}, Gone),
    "a version of the future": (
        504, "Timeout", {"causes": [{"reason": "ResourceVersionTooLarge"}]},
        ResourceVersionTooLarge,
    ),
    "a plain timeout": (504, "Timeout", {}, ServerError),
}  # fmt: skip


@pytest.mark.parametrize(("code", "reason", "details", "kind"), CASES.values(), ids=CASES.keys())
def test_class_of_a_status(
    code: int, reason: str, details: dict[str, Any], kind: type[ApiError]
) -> None:
    body = status_body(code, reason, "why", **details)
    for error in (api_error(code, {}, orjson.dumps(body)), status_error(body)):
        assert type(error) is kind
        assert (error.code, error.reason, error.message) == (code, reason, "why")
        assert str(error) == f"{code} {reason}: why"


def test_the_base_class_determines_the_policy() -> None:
    transient = [ServerError, TooManyRequests, ResourceVersionTooLarge, TransportError]
    assert all(issubclass(kind, Transient) for kind in transient)
    assert issubclass(NamespaceTerminating, Forbidden)
    # A version conflict is retried with fresh data, a field conflict is not: different classes.
    assert not issubclass(ApplyConflict, Conflict)
    assert not issubclass(AlreadyExists, Conflict)
    assert not issubclass(Transient, TerminalError)


def test_an_apply_conflict_names_fields_and_managers() -> None:
    error = status_error(status_body(409, "Conflict", "3 conflicts", **FIELD_CONFLICTS))
    assert isinstance(error, ApplyConflict)
    assert error.fields == (".spec.replicas", ".data.a", ".data.b")
    assert error.managers == ("kubectl", "helm")


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"Retry-After": "3"}, {}, 3.0),
        ({}, {"retryAfterSeconds": 7}, 7.0),
        ({"Retry-After": "3"}, {"retryAfterSeconds": 7}, 3.0),
        ({}, {}, None),
        ({"Retry-After": "Wed, 21 Oct 2030 07:28:00 GMT"}, {}, None),
        ({"Retry-After": "0"}, {}, None),
        ({"Retry-After": "nan"}, {}, None),
    ],
)
def test_retry_after(
    headers: dict[str, str], details: dict[str, Any], seconds: float | None
) -> None:
    body = orjson.dumps(status_body(429, "TooManyRequests", "", **details))
    assert api_error(429, headers, body).retry_after == seconds


@pytest.mark.parametrize(
    ("code", "body", "kind", "message"),
    [
        (
            502,
            b"<html>\n <b>Bad  Gateway</b></html>",
            ServerError,
            "<html> <b>Bad Gateway</b></html>",
        ),
        (503, b"", ServerError, ""),
        (404, b"404 page not found\n", NotFound, "404 page not found"),
        (401, b"[1, 2]", Unauthorized, "[1, 2]"),
        (500, b"\xff\xfe", ServerError, "\ufffd\ufffd"),
        (403, b'{"kind":"Status","details":null}', Forbidden, ""),
        (403, b'{"kind":"Status","details":"odd","message":["odd"]}', Forbidden, "['odd']"),
        (403, b'{"kind":"Status","details":{"causes":["odd"]}}', Forbidden, ""),
    ],
)
def test_invalid_status_bodies(code: int, body: bytes, kind: type[ApiError], message: str) -> None:
    error = api_error(code, {}, body)
    assert type(error) is kind
    assert (error.code, error.message, error.causes) == (code, message, ())


def test_long_messages_are_cut() -> None:
    for body in (b"x" * 5000, orjson.dumps(status_body(500, "InternalError", "x" * 5000))):
        assert api_error(500, {}, body).message == "x" * MESSAGE_LIMIT


def test_an_error_event_without_a_code_is_a_server_error() -> None:
    assert type(status_error({"kind": "Status", "message": "odd"})) is ServerError
