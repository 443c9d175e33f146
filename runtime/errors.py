"""What can go wrong, as types: the class says which policy applies and is the metric label.

Pure; uses orjson to read the Status payload of the API server. Raised by the client, caught by
controllers and by the code that applies objects.

Two policies matter to a controller: a Transient error is retried with backoff, a TerminalError
is not retried until something changes. Every other ApiError is a fact for the caller to judge.
"""
# ruff: noqa: N818 - the names are the reasons of the Kubernetes API, and metric labels

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

MESSAGE_LIMIT = 512
"""Characters of a server's message that are kept: they end up in logs, events and status."""


class Transient(Exception):
    """May be gone on the next try: retry with backoff."""


class TerminalError(Exception):
    """Trying again cannot help until an object, the configuration or the program changes."""


class LeaseLost(Exception):
    """A write was refused on our side because the leader lease may have run out."""


class TransportError(Transient):
    """No answer: connection refused or reset, a deadline passed, a stream cut short.

    A write that ends this way may or may not have happened.
    """


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of details.causes in a Status."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class StatusInfo:
    """What a failed call reports, whatever its shape was on the wire."""

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after: float | None = None


class ConnectionDropped(TransportError):
    """The connection was lost after the call had been sent, or part of it."""


class ApiError(Exception):
    """The API server answered with an error.

    code is the HTTP status; reason the machine word of the Status ("" when the body was none);
    message at most MESSAGE_LIMIT characters; retry_after in seconds when the server named one.
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
    """400: the request itself is malformed; also how some servers reject unknown fields."""


class Unauthorized(ApiError):
    """401: the credentials were not accepted, after they had been read again once."""


class Forbidden(ApiError):
    """403: RBAC, an admission rule or a quota says no."""


class NamespaceTerminating(Forbidden):
    """403: nothing can be created in a namespace that is being deleted."""


class QuotaExceeded(Forbidden, Transient):
    """403: a quota is used up. No event reports its end, so the request is retried."""


class NotFound(ApiError):
    """404: the object, or the whole kind, does not exist."""


class Conflict(ApiError):
    """409: a resourceVersion or uid precondition does not hold (any more).

    An apply whose uid is not that of the live object belongs here too, though the server calls
    it invalid (422, field metadata.uid).
    """


class AlreadyExists(ApiError):
    """409: a create hit an existing object of that name."""


class ApplyConflict(ApiError):
    """409: a server-side apply without force touches fields that others own."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The contested field paths, as the server writes them (".spec.replicas")."""
        return tuple(cause.field for cause in self._conflicts)

    @property
    def managers(self) -> tuple[str, ...]:
        """The other field managers, each once, in order of appearance.

        The server has no field for them: each cause reads `conflict with "name" using v1`.
        """
        names = (cause.message.split('"') for cause in self._conflicts)
        return tuple(dict.fromkeys(parts[1] for parts in names if len(parts) > 2))

    @property
    def _conflicts(self) -> tuple[StatusCause, ...]:
        return tuple(cause for cause in self.causes if cause.reason == FIELD_MANAGER_CONFLICT)


class Gone(ApiError):
    """410: the resourceVersion or the page token is older than what the server remembers."""


class RequestTooLarge(ApiError):
    """413, or 500 from the storage: the object is larger than the server or its storage takes."""


class UnsupportedMediaType(ApiError):
    """415: the server does not know the encoding of the body."""


class Invalid(ApiError):
    """422: the object breaks its schema or a validation rule, or changes an immutable field."""


class PatchFailed(Invalid):
    """422: an operation of a JSON patch cannot be carried out, such as a test that does not hold.

    The server reports no more than that (1.36): a test that fails and a path that does not exist
    look alike.
    """


class TooManyRequests(ApiError, Transient):
    """429: the server sheds load."""


class EvictionRefused(ApiError):
    """429: a disruption budget does not permit it now; 500: the pod is under several of them.

    The server names a moment after which to retry although it cannot know one: how often that is
    done is the caller's choice, and never the client's.
    """

    @property
    def budget(self) -> str:
        """What the server says of the budget, which it names."""
        words = (cause.message for cause in self.causes if cause.reason == DISRUPTION_BUDGET)
        return next(words, "") or self.message


class ServerError(ApiError, Transient):
    """5xx: the server, its storage or a webhook failed."""


class ResourceVersionTooLarge(ServerError):
    """504: we ask for a version the server has not reached; its history may have gone back."""


class MalformedApply(ApiError):
    """500: the body of an apply does not fit the schema (unknown field, wrong type, a key twice).

    The server says so in words alone and calls it an error of its own; trying again cannot help.
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

# What the server says in words alone, at the codes given: recorded from 1.36.
_BY_WORDS: tuple[tuple[int, str, type[ApiError]], ...] = (
    (403, "exceeded quota", QuotaExceeded),
    # Of the eviction of a pod (pkg/registry/core/pod/storage/eviction.go).
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
    """The typed error of an answer with that HTTP status; the body need not be a Status.

    Proxies and load balancers answer with HTML or nothing: their text becomes the message.
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
    # The answer to a request that took too long comes without its kind (1.36).
    return body.get("kind") == "Status" or ("kind" not in body and body.get("status") == "Failure")


def status_error(
    status: Mapping[str, Any], *, code: int | None = None, retry_after: float | None = None
) -> ApiError:
    """The typed error of a Status object, as found in a response or in an ERROR watch event.

    code and retry_after are what the HTTP envelope said, if there was one: the code of the
    envelope wins, because the payload of an aggregated server may lack it.
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
        # How an apply with the uid of another object is refused (1.36): its precondition failed.
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
    """The value if it is a JSON object: an error must not break over how it is reported."""
    return value if isinstance(value, dict) else {}


def _positive(value: object) -> float | None:
    """A positive number; the API server never sends the HTTP date form of Retry-After."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 < number < math.inf else None
