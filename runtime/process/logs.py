"""JSON logs: one object per line, quiet by default, safe to show on a terminal.

Uses structlog and orjson. Called once by the start of the process; all other code calls
`structlog.get_logger()`. Fields bound with structlog's contextvars (controller, namespace, name,
reconcile_id) appear on every line of their task. Logs of libraries through the standard library,
and warnings, have the same format.

A log line may contain text of users and of servers. Control, invisible and bidirectional characters
are escaped and long texts are cut, so that no value can forge or hide a line; values with the name
of a secret are never logged.
"""

import logging
import re
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, BinaryIO, Final

import orjson
import structlog

from runtime.clock import Clock
from runtime.redaction import REDACTED

MESSAGE_LIMIT: Final = 1024
"""Longest text in a line, in characters."""

TRACE_LIMIT: Final = 16_384
"""Longest traceback, in characters; its end is kept, because it contains the error."""

DEPTH_LIMIT: Final = 6
ITEMS_LIMIT: Final = 100

LEVELS: Final = ("debug", "info", "warning", "error", "critical")

# C0 and C1 controls, lone surrogates, zero-width and bidirectional controls, line separators.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_UNSAFE_IN_TRACE = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))

_SENSITIVE: Final = (
    "authorization",
    "credential",
    "password",
    "private_?key",
    "secret",
    "stringdata",
    "token",
)


def configure(
    clock: Clock,
    *,
    level: str = "info",
    stream: BinaryIO | None = None,
    sensitive: Iterable[str] = (),
) -> None:
    """Set up logging for the process; the last call wins.

    `level` is one of LEVELS (ValueError otherwise) and applies to our own lines; libraries log from
    warning, at level debug from info. `stream` defaults to stderr. `sensitive` are further patterns
    of names whose values are never logged; they match the end of a name, case-insensitively, with
    or without an s: "signing_key" hides OLD_SIGNING_KEYS too.
    """
    if level not in LEVELS:
        raise ValueError(f"log level {level!r}: need one of {', '.join(LEVELS)}")
    pattern = re.compile(rf".*(?:{'|'.join((*_SENSITIVE, *sensitive))})s?", re.IGNORECASE)
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            _Stamp(clock),
            _Sanitize(pattern),
            _render,
        ],
        logger_factory=structlog.BytesLoggerFactory(stream or sys.stderr.buffer),
        # A cached logger would keep the stream of the first call.
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_ToStructlog()]
    root.setLevel(logging.INFO if level == "debug" else max(threshold, logging.WARNING))
    logging.captureWarnings(True)


class _Stamp:
    """Adds the time, in UTC with microseconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(
        self, logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        event["time"] = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return event


class _Sanitize:
    """Escapes, cuts and redacts the values of a line."""

    def __init__(self, sensitive: re.Pattern[str]) -> None:
        self._sensitive = sensitive

    def __call__(
        self, logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        trace = event.pop("exception", None)
        clean = self._mapping(event, 0)
        if trace is not None:
            clean["exception"] = _UNSAFE_IN_TRACE.sub(_escape, str(trace)[-TRACE_LIMIT:])
        return clean

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        return {
            _text(str(name)): (
                REDACTED if self._sensitive.fullmatch(str(name)) else self._value(item, depth)
            )
            for name, item in list(value.items())[:ITEMS_LIMIT]
        }

    def _value(self, value: object, depth: int) -> object:
        if isinstance(value, str):
            return _text(value)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            # orjson rejects integers of more than 64 bits.
            return value if -(2**63) <= value < 2**63 else str(value)
        if depth < DEPTH_LIMIT and isinstance(value, Mapping):
            return self._mapping(value, depth + 1)
        if depth < DEPTH_LIMIT and isinstance(value, list | tuple | set | frozenset):
            return [self._value(item, depth + 1) for item in list(value)[:ITEMS_LIMIT]]
        return _text(str(value))


class _ToStructlog(logging.Handler):
    """Forwards records of the standard library, so that there is one format and one stream."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a wrong format string must not fail the caller
            message = str(record.msg)
        structlog.get_logger().log(
            # Custom levels of a library are treated as the next lower level.
            min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL),
            message,
            logger=record.name,
            **({"exc_info": record.exc_info} if record.exc_info else {}),
        )


def _text(value: str) -> str:
    cut = value if len(value) <= MESSAGE_LIMIT else value[: MESSAGE_LIMIT - 1] + "…"
    return _UNSAFE.sub(_escape, cut)


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def _render(logger: object, method: str, event: MutableMapping[str, Any]) -> bytes:
    """Encode the line: time, level and message first, with the names of zap."""
    head = {"time": event.pop("time"), "level": event.pop("level"), "msg": event.pop("event")}
    return orjson.dumps({**head, **event})
