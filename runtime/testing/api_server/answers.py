"""The responses of the fake server: replies, and the Status bodies of errors.

Pure. Reasons and messages are those of a real server (1.36), where programs read them.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from runtime.types import Object, Resource


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete HTTP response."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of details.causes."""

    reason: str
    message: str
    field: str = ""

    def encoded(self) -> Object:
        filled = {"reason": self.reason, "message": self.message, "field": self.field}
        return {name: text for name, text in filled.items() if text}


@dataclass(frozen=True, slots=True)
class About:
    """The object of an error."""

    name: str = ""
    group: str = ""
    kind: str = ""

    def encoded(self) -> Object:
        filled = {"name": self.name, "group": self.group, "kind": self.kind}
        return {key: text for key, text in filled.items() if text}


class RefusedAnswer(Exception):  # noqa: N818 - named after the response of the server
    """An error response of the server, or an ERROR event of a watch.

    Without a reason the response is plain text instead of a Status.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        about: About | None = None,
        causes: Sequence[Cause] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        details = about.encoded() if about else {}
        if causes:
            details["causes"] = [cause.encoded() for cause in causes]
        if retry_after is not None:
            details["retryAfterSeconds"] = retry_after
        self.retry_after = retry_after
        self.status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            **({"details": details} if details else {}),
            "code": code,
        }

    @property
    def code(self) -> int:
        return int(self.status["code"])

    def reply(self) -> Reply:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if not self.status["reason"]:
            return Reply(self.code, self.status["message"].encode(), headers)
        return Reply(self.code, orjson.dumps(self.status), headers)


def about(resource: Resource, name: str) -> About:
    """The details of errors about one object: the field kind contains the plural."""
    return About(name, resource.group, resource.plural)


def not_found(resource: Resource, name: str) -> RefusedAnswer:
    """404: no object of that name."""
    text = f'{resource} "{name}" not found'
    return RefusedAnswer(404, "NotFound", text, about=about(resource, name))


def not_served() -> RefusedAnswer:
    """404: the group exists, but not the kind."""
    return RefusedAnswer(404, "NotFound", "the server could not find the requested resource")


def no_such_group() -> RefusedAnswer:
    """404: the group or its version does not exist."""
    return RefusedAnswer(404, "", "404 page not found\n")


def already_exists(resource: Resource, name: str) -> RefusedAnswer:
    """409: an object of that name exists."""
    text = f'{resource} "{name}" already exists'
    return RefusedAnswer(409, "AlreadyExists", text, about=about(resource, name))


def conflict(what: str, name: str, why: str) -> RefusedAnswer:
    """409: a precondition failed."""
    text = f'Operation cannot be fulfilled on {what} "{name}": {why}'
    return RefusedAnswer(409, "Conflict", text, about=About(name, kind=what))


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def invalid(resource: Resource, name: str, *causes: Cause) -> RefusedAnswer:
    """422: a field violates a rule."""
    text = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
    full = f'{resource.kind} "{name}" is invalid: {text}'
    return RefusedAnswer(
        422, "Invalid", full, about=About(name, resource.group, resource.kind), causes=causes
    )


def bad_request(message: str) -> RefusedAnswer:
    """400: the request itself is malformed."""
    return RefusedAnswer(400, "BadRequest", message)


def expired(requested: int, oldest: int) -> RefusedAnswer:
    """410: the history after that version is compacted."""
    return RefusedAnswer(410, "Expired", f"too old resource version: {requested} ({oldest})")


def token_expired() -> RefusedAnswer:
    """410: the snapshot of a continue token is compacted."""
    return RefusedAnswer(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result.",
    )


def too_large(requested: int, newest: int) -> RefusedAnswer:
    """504: the version is newer than the storage."""
    text = f"Too large resource version: {requested}, current: {newest}"
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    return RefusedAnswer(504, "Timeout", f"Timeout: {text}", causes=(cause,), retry_after=1)


def too_many(retry_after: int = 1) -> RefusedAnswer:
    """429: the server is overloaded."""
    text = "Too many requests, please try again later."
    return RefusedAnswer(429, "TooManyRequests", text, retry_after=retry_after)


def internal(message: str = "etcdserver: request timed out") -> RefusedAnswer:
    """500: the storage failed."""
    return RefusedAnswer(500, "InternalError", f"Internal error occurred: {message}")


def new_uid(rng: random.Random) -> str:
    """A UUID that depends only on the seed."""
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
