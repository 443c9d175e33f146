"""The content of log lines."""

import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

import orjson
import pytest
import structlog

from runtime.process.logs import MESSAGE_LIMIT, TRACE_LIMIT, configure
from runtime.redaction import REDACTED
from runtime.testing.clock import ManualClock

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stream(logs_as_before: None) -> io.BytesIO:
    """Logging at level info into memory."""
    stream = io.BytesIO()
    configure(ManualClock(), stream=stream, sensitive=("signing_key",))
    return stream


@pytest.fixture
def lines(stream: io.BytesIO) -> Lines:
    def read() -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in stream.getvalue().splitlines()]

    return read


def test_a_line_is_one_object_with_time_level_and_message_first(lines: Lines) -> None:
    structlog.get_logger().info("reconciled", attempt=3, ok=True, ratio=0.5, nothing=None)
    (line,) = lines()
    assert line == {
        "time": "2030-01-01T00:00:00.000000Z",
        "level": "info",
        "msg": "reconciled",
        "attempt": 3,
        "ok": True,
        "ratio": 0.5,
        "nothing": None,
    }
    assert list(line)[:3] == ["time", "level", "msg"]


def test_the_reconcile_is_on_each_of_its_lines_and_on_no_other(lines: Lines) -> None:
    log = structlog.get_logger()
    with structlog.contextvars.bound_contextvars(controller="shop", reconcile_id="7"):
        log.info("inside")
    log.info("outside")
    inside, outside = lines()
    assert (inside["controller"], inside["reconcile_id"]) == ("shop", "7")
    assert "reconcile_id" not in outside


def test_debug_is_off_by_default(stream: io.BytesIO, lines: Lines) -> None:
    structlog.get_logger().debug("whisper")
    assert lines() == []
    configure(ManualClock(), level="debug", stream=stream)
    structlog.get_logger().debug("whisper")
    assert [line["level"] for line in lines()] == ["debug"]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="loud"):
        configure(ManualClock(), level="loud")


NASTY: dict[str, tuple[str, str]] = {
    "a line break is escaped": ("a\nb\rc", "a\\nb\\rc"),
    "an escape sequence is escaped": ("\x1b[2J", "\\x1b[2J"),
    "a C1 control character is escaped": ("\x9b1m", "\\x9b1m"),
    "a bidirectional override is escaped": ("a\u202eb", "a\\u202eb"),
    "an invisible character is escaped": ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
    "a separator of JavaScript is escaped": ("a\u2028b", "a\\u2028b"),
    "half a surrogate pair is escaped": ("a\ud800b", "a\\ud800b"),
    "letters of all scripts are unchanged": ("Zürich 東京 🙂", "Zürich 東京 🙂"),
    "long text is cut": ("x" * 2000, "x" * (MESSAGE_LIMIT - 1) + "…"),
}


@pytest.mark.parametrize(("text", "expected"), NASTY.values(), ids=NASTY.keys())
def test_text_is_escaped_everywhere(text: str, expected: str, lines: Lines) -> None:
    structlog.get_logger().info(text, field=text, nested={"list": [text]}, **{text: 1})
    (line,) = lines()
    assert line["msg"] == expected
    assert line["field"] == expected
    assert line["nested"] == {"list": [expected]}
    assert line[expected] == 1


def test_values_that_json_cannot_encode_are_logged_as_text(lines: Lines) -> None:
    class Strange:
        def __str__(self) -> str:
            return "strange\n"

    structlog.get_logger().info(
        "x", big=2**70, obj=Strange(), raw=b"\x00", keys={1: "one"}, bag={"a"}, pair=(1, "b")
    )
    (line,) = lines()
    assert line["big"] == str(2**70)
    assert line["obj"] == "strange\\n"
    assert line["raw"] == "b'\\x00'"
    assert line["keys"] == {"1": "one"}
    assert line["bag"] == ["a"]
    assert line["pair"] == [1, "b"]


def test_endless_nesting_is_cut(lines: Lines) -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    structlog.get_logger().info("x", loop=loop, many=list(range(1000)))
    (line,) = lines()
    assert len(line["many"]) == 100
    assert len(str(line["loop"])) < 2 * MESSAGE_LIMIT


@pytest.mark.parametrize(
    "name",
    [
        "token", "rootToken", "root_token", "unseal_tokens", "PASSWORD", "client-secret",
        "Authorization", "private_key", "stringData", "old_signing_key",
    ],
)  # fmt: skip
def test_values_with_the_name_of_a_secret_are_redacted(name: str, lines: Lines) -> None:
    structlog.get_logger().info("x", **{name: "s3cr3t"}, nested=[{name: {"deep": "s3cr3t"}}])
    (line,) = lines()
    assert line[name] == REDACTED
    assert line["nested"] == [{name: REDACTED}]


@pytest.mark.parametrize("name", ["secret_name", "token_ttl", "key", "namespace"])
def test_values_with_a_similar_name_are_logged(name: str, lines: Lines) -> None:
    structlog.get_logger().info("x", **{name: "web"})
    assert lines()[0][name] == "web"


def test_a_traceback_keeps_its_lines_and_its_end(lines: Lines) -> None:
    try:
        raise ValueError("x" * TRACE_LIMIT + "\x1b the end")
    except ValueError:
        structlog.get_logger().exception("failed")
    (line,) = lines()
    assert line["level"] == "error"
    assert line["exception"].endswith("\\x1b the end")
    assert len(line["exception"]) <= TRACE_LIMIT + 10


def test_libraries_log_in_the_same_format_from_warning(lines: Lines) -> None:
    library = logging.getLogger("aiohttp.client")
    library.info("chatter")
    library.warning("%s went\nwrong", "it")
    library.log(35, "between the levels")
    try:
        raise KeyError("k")
    except KeyError:
        library.exception("broken")
    loggers = [(line["logger"], line["level"], line["msg"]) for line in lines()]
    assert loggers == [
        ("aiohttp.client", "warning", "it went\\nwrong"),
        ("aiohttp.client", "warning", "between the levels"),
        ("aiohttp.client", "error", "broken"),
    ]
    assert "KeyError: 'k'" in lines()[-1]["exception"]


def test_warnings_have_the_same_format(lines: Lines) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old ways", DeprecationWarning, stacklevel=1)
    (line,) = lines()
    assert line["logger"] == "py.warnings"
    assert "old ways" in line["msg"]


def test_a_wrong_format_string_of_a_library_is_logged(lines: Lines) -> None:
    record = logging.LogRecord("lib", logging.WARNING, "x.py", 1, "%d", ("no number",), None)
    (handler,) = (
        h for h in logging.getLogger().handlers if type(h).__module__ == "runtime.process.logs"
    )
    handler.handle(record)
    assert [line["msg"] for line in lines()] == ["%d"]
