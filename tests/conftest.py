"""Watches over every store in every test, and prints the table of proven semantics."""

import gc
import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from tests.runtime.mutations import watched_stores
from tests.semantics import table

# How fast an example runs is a matter of the machine and of what else it does (make bench).
# The same examples in each run: chance does not decide over a landing. New examples:
# pytest --hypothesis-profile=explore
settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("house")

# The default (700 objects) spends a tenth of the time on garbage: 15,000 tests are a large heap.
gc.set_threshold(10_000, 10, 10)

# The default of structlog draws each traceback with its local variables and highlighted source, at
# 40 ms each. Tests log thousands of them.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
    ]
)


@pytest.fixture(autouse=True)
def nobody_changes_a_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test during which somebody changed an object in a store."""
    with watched_stores(monkeypatch):
        yield


@pytest.fixture
def logs_as_before() -> Iterator[None]:
    """Restore the configuration of logging after a test that changes it."""
    root = logging.getLogger()
    handlers, level, events = root.handlers[:], root.level, structlog.get_config()
    yield
    # Not structlog.reset_defaults: all later tests would draw their tracebacks.
    structlog.configure(**events)
    root.handlers, root.level = handlers, level
    logging.captureWarnings(False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, if any test of this run stands in it."""
    lines = table(
        _ids(terminalreporter, "passed"),
        (*_ids(terminalreporter, "failed"), *_ids(terminalreporter, "error")),
    )
    if lines:
        terminalreporter.section("the guarantees of the runtime (tests/semantics.py)")
        terminalreporter.write("\n".join((*lines, "")))


def _ids(reporter: pytest.TerminalReporter, outcome: str) -> Iterator[str]:
    for report in reporter.stats.get(outcome, ()):
        if isinstance(report, pytest.TestReport):
            yield report.nodeid
