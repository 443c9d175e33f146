"""Parses the answers of a server: a value, a refusal, or an error. No I/O.

The owner of the cluster chooses the program that answers (spec.image), so the size, depth and
number of values of an answer are limited. Its texts become one short line of a message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from contracts.conditions.message import clean_message
from runtime.errors import TerminalError, Transient
from runtime.limits.nesting import VALUES_MAX, UnreadableError, read_json

Answer = TypeVar("Answer", bound=BaseModel)
LEVELS_MAX = 64
"""The same limit as for a spec; answers of OpenBao about itself have less than ten levels."""
REASONS_MAX = 8
"""Errors of one refusal that the operator reads; OpenBao returns one, sometimes two."""
REASON_MAX = 200
SETTING_MAX = 256
_PATH_MAX = 60


@dataclass(frozen=True, slots=True)
class Bound:
    """The limits of an answer, and its decoder."""

    size: int
    """Bytes."""
    values: int = VALUES_MAX
    levels: int = LEVELS_MAX
    decode: Callable[[bytes], Any] = orjson.loads


OWN = Bound(256 * 1024)
"""For answers about the server and its cluster. The longest is the autopilot state, with about 400
bytes for each member."""
SHARES = Bound(1024 * 1024)
"""255 shares for keys of 4096 bits, each in hexadecimal digits and in base64, take 600 KiB."""
# sys/mounts lists each of up to 14,000 secret engines twice. json.loads keeps all digits of an
# integer, as the digests of older snapshots do.
CONTENT = Bound(16 * 1024 * 1024, values=1_000_000, decode=json.loads)
"""For the data of the server, which only jobs read, in their own pods."""


class BaoError(Transient):
    """A server could not be reached, or gave an invalid answer."""


class NotSentError(BaoError):
    """The connection failed, so the server cannot have read any byte of the request."""


class Denied(TerminalError):  # noqa: N818  named after the answer of the server
    """The server denied the request: the token expired, or a role or a policy is missing.

    `code` is that of its answer (400, 403, 404); 0 when there was no token.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


def as_object(text: bytes, bound: Bound) -> Mapping[str, Any]:
    """Read the body of an answer; empty for an empty body and for JSON that is not an object.

    Raises UnreadableError.
    """
    if not text.strip():
        return {}
    body = read_json(text, levels=bound.levels, values=bound.values, decode=bound.decode)
    return body if isinstance(body, dict) else {}


def granted(code: int, body: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the body of a successful answer. Raises Denied, BaoError."""
    if code in (400, 403, 404):
        raise Denied(f"{path} answered {code}: {reason(body)}", code)
    if code not in (200, 204):
        raise BaoError(f"{path} answered {code}")
    return body


def data_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `data` of an answer; empty without it."""
    data = body.get("data")
    return data if isinstance(data, dict) else {}


def settings_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings in `data` of an answer, without lists, objects and long texts."""
    return {
        name: value
        for name, value in data_of(body).items()
        if isinstance(value, bool | int | float)
        or (isinstance(value, str) and len(value) <= SETTING_MAX)
    }


def reason(body: Mapping[str, Any]) -> str:
    """Return the reason of the server for a refusal, as one short line."""
    text = "; ".join(error[:REASON_MAX] for error in errors_of(body))
    return clean_message(" ".join(text.split()))[:REASON_MAX] or "no reason given"


def errors_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the first texts among the errors of an answer."""
    listed = body.get("errors")
    texts = listed[:REASONS_MAX] if isinstance(listed, list) else ()
    return tuple(text for text in texts if isinstance(text, str))


def as_model(model: type[Answer], body: Mapping[str, Any]) -> Answer:
    """Validate an answer against a model. Raises UnreadableError."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        # A location may contain a key of the answer.
        path = clean_message(".".join(str(part)[:_PATH_MAX] for part in first["loc"]))
        message = f"no {model.__name__}: {path[:_PATH_MAX]}: {first['msg']}"
        raise UnreadableError(message) from None
