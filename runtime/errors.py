"""The errors of the API client: the class determines the retry policy and is the metric label.

Pure; uses orjson to read the Status payload of the API server. Raised by the client, caught by
controllers and by the code that applies objects.

A controller knows two policies: a Transient error is retried with backoff, a TerminalError is not
retried until something changes. The caller decides what any other ApiError means.
"""
# ruff: noqa: N818 - the names are the reasons of the Kubernetes API, and metric labels

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

MESSAGE_LIMIT = 512
"""Longest message of a server that is kept, in characters: it is copied to logs, events and
status."""


class Transient(Exception):
    """The next attempt may succeed: retry with backoff."""


class TerminalError(Exception):
    """A retry cannot succeed until an object, the configuration or the program changes."""


class LeaseLost(Exception):
    """The client refused a write because the leader lease may have expired."""


class TransportError(Transient):
    """No response: connection refused or reset, deadline exceeded, stream truncated.

    After this error a write may or may not have happened.
    """


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of details.causes in a Status."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class StatusInfo:
    """The content of an error response, in whatever form it arrived."""

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after: float | None = None


class ConnectionDropped(TransportError):
    """The connection was lost after the call, or part of it, had been sent."""


class ApiError(Exception):
    """The API server responded with an error.

    code is the HTTP status; reason the reason of the Status ("" when the body is no Status);
    message has at most MESSAGE_LIMIT characters; retry_after is in seconds, if the server sent it.
    """

    def __init__(self, info: StatusInfo) -> None:
        super().__init__(info.message)
        self.info = info

    def __str__(self) -> str:
        return f"{self.code} {self.reason or 'error'}: {self.message}"

    @property
    def code(self) -> int:
        return self.info.code

    @property
    def reason(self) -> str:
        return self.info.reason

    @property
    def message(self) -> str:
        return self.info.message

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        return self.info.causes

    @property
    def retry_after(self) -> float | None:
        return self.info.retry_after


class BadRequest(ApiError):
    """400: the request is malformed; some servers also reject unknown fields with it."""


class Unauthorized(ApiError):
    """401: the server rejected the credentials, also after they were read again once."""


class Forbidden(ApiError):
    """403: RBAC, an admission policy or a quota denies the request."""


class NamespaceTerminating(Forbidden):
    """403: nothing can be created in a namespace that is being deleted."""


class QuotaExceeded(Forbidden, Transient):
    """403: a quota is exceeded. No event reports when it is free again, so the request is
    retried."""


class NotFound(ApiError):
    """404: the object, or the whole kind, does not exist."""


class Conflict(ApiError):
    """409: a precondition on resourceVersion or uid failed.

    This includes an apply whose uid differs from that of the live object, although the server
    responds with Invalid (422, field metadata.uid).
    """


class AlreadyExists(ApiError):
    """409: an object of that name exists."""


class ApplyConflict(ApiError):
    """409: a server-side apply without force changes fields of other field managers."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths of the conflicting fields, as the server writes them (".spec.replicas")."""
        return tuple(cause.field for cause in self._conflicts)

    @property
    def managers(self) -> tuple[str, ...]:
        """The other field managers, each once, in order of appearance.

        The Status has no field for them: they are parsed from `conflict with "name" using v1`.
        """
        names = (cause.message.split('"') for cause in self._conflicts)
        return tuple(dict.fromkeys(parts[1] for parts in names if len(parts) > 2))

    @property
    def _conflicts(self) -> tuple[StatusCause, ...]:
        return tuple(cause for cause in self.causes if cause.reason == FIELD_MANAGER_CONFLICT)


class Gone(ApiError):
    """410: the resourceVersion or the continue token has expired."""


class RequestTooLarge(ApiError):
    """413, or 500 from etcd: the object exceeds the size limit of the server or of etcd."""


class UnsupportedMediaType(ApiError):
    """415: the server does not support the media type of the body."""


class Invalid(ApiError):
    """422: the object violates its schema or a validation rule, or changes an immutable field."""


class PatchFailed(Invalid):
    """422: an operation of a JSON patch failed, such as a `test`.

    The server does not distinguish a `test` that fails from a path that does not exist (1.36).
    """


class TooManyRequests(ApiError, Transient):
    """429: the server is overloaded."""


class EvictionRefused(ApiError):
    """429: a disruption budget does not permit the eviction now; 500: several budgets select the
    pod.

    The server sends a Retry-After although it cannot know the time. The caller decides when to
    retry; the client never retries.
    """

    @property
    def budget(self) -> str:
        """The message of the server about the budget, with the name of the budget."""
        words = (cause.message for cause in self.causes if cause.reason == DISRUPTION_BUDGET)
        return next(words, "") or self.message


class ServerError(ApiError, Transient):
    """5xx: the server, its storage or a webhook failed."""


class ResourceVersionTooLarge(ServerError):
    """504: the requested version is newer than the server's; it may have been restored from a
    backup."""


class MalformedApply(ApiError):
    """500: the body of an apply does not fit the schema (unknown field, wrong type, duplicate key).

    The server reports it as an internal error, recognizable only by its message; a retry cannot
    succeed.
    """


DISRUPTION_BUDGET = "DisruptionBudget"
FIELD_MANAGER_CONFLICT = "FieldManagerConflict"
NAMESPACE_TERMINATING = "NamespaceTerminating"
RESOURCE_VERSION_TOO_LARGE = "ResourceVersionTooLarge"

_BY_CAUSE: tuple[tuple[int, str, type[ApiError]], ...] = (
    (403, NAMESPACE_TERMINATING, NamespaceTerminating),
    (409, FIELD_MANAGER_CONFLICT, ApplyConflict),
    (429, DISRUPTION_BUDGET, EvictionRefused),
    (504, RESOURCE_VERSION_TOO_LARGE, ResourceVersionTooLarge),
)

# Errors that can only be recognized by code and message: recorded from 1.36.
_BY_WORDS: tuple[tuple[int, str, type[ApiError]], ...] = (
    (403, "exceeded quota", QuotaExceeded),
    # The response to an eviction (pkg/registry/core/pod/storage/eviction.go).
    (500, "more than one PodDisruptionBudget", EvictionRefused),
    (500, "failed to create typed patch object", MalformedApply),
    (500, "field not declared in schema", MalformedApply),
    (500, "message larger than max", RequestTooLarge),
    (500, "request is too large", RequestTooLarge),
)

_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: RequestTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
}


def api_error(code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The typed error of a response with that HTTP status; the body need not be a Status.

    Proxies and load balancers respond with HTML or an empty body: their text becomes the message.
    """
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    header_wait = _positive(headers.get("Retry-After"))
    if not isinstance(status, dict) or not _is_status(status):
        text = " ".join(body.decode("utf-8", "replace").split())
        info = StatusInfo(code, message=text[:MESSAGE_LIMIT], retry_after=header_wait)
        return _class_of(info)(info)
    return status_error(status, code=code, retry_after=header_wait)


def _is_status(body: Mapping[str, Any]) -> bool:
    # The response to a request that timed out has no kind (1.36).
    return body.get("kind") == "Status" or ("kind" not in body and body.get("status") == "Failure")


def status_error(
    status: Mapping[str, Any], *, code: int | None = None, retry_after: float | None = None
) -> ApiError:
    """The typed error of a Status object, from a response or from an ERROR watch event.

    code and retry_after are those of the HTTP response, if there is one. Its code takes precedence,
    because the Status of an aggregated server may lack it.
    """
    details = _mapping(status.get("details"))
    info = StatusInfo(
        code=code or int(_positive(status.get("code")) or 500),
        reason=str(status.get("reason") or ""),
        message=str(status.get("message") or "")[:MESSAGE_LIMIT],
        causes=_causes(details),
        retry_after=retry_after
        if retry_after is not None
        else _positive(details.get("retryAfterSeconds")),
    )
    return _class_of(info)(info)


def _class_of(info: StatusInfo) -> type[ApiError]:
    reasons = {cause.reason for cause in info.causes}
    if info.code == 422 and any(cause.field == "metadata.uid" for cause in info.causes):
        # An apply with the uid of another object (1.36): its precondition failed.
        return Conflict
    if info.code == 409 and info.reason == "AlreadyExists":
        return AlreadyExists
    for code, reason, by_cause in _BY_CAUSE:
        if info.code == code and reason in reasons:
            return by_cause
    for code, words, error_class in _BY_WORDS:
        if info.code == code and words in info.message:
            return error_class
    if info.code >= 500:
        return ServerError
    return _BY_CODE.get(info.code, ApiError)


def _causes(details: Mapping[str, Any]) -> tuple[StatusCause, ...]:
    causes = details.get("causes")
    return tuple(
        StatusCause(
            reason=str(cause.get("reason") or ""),
            message=str(cause.get("message") or "")[:MESSAGE_LIMIT],
            field=str(cause.get("field") or ""),
        )
        for cause in map(_mapping, causes if isinstance(causes, list) else ())
        if cause
    )


def _mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one: a malformed Status must not raise."""
    return value if isinstance(value, dict) else {}


def _positive(value: object) -> float | None:
    """The value as a positive number; the API server never sends Retry-After as an HTTP date."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 < number < math.inf else None
