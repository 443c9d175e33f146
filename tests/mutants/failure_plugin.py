"""A plugin of pytest that writes down which tests failed and why, one line of JSON per failure.

Loaded with `-p tests.mutants.failure_plugin` by tests.mutants.copies, which names the file in the
environment. Uses pytest and the standard library, and no module of the product.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

VARIABLE = "MUTANT_FAILURES"
_TEXT_LENGTH = 300


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write a line for a test whose report says that it failed."""
    report = yield
    if report.failed:
        error = call.excinfo.typename if call.excinfo else "Failed"
        text = str(call.excinfo.value) if call.excinfo else report.longreprtext
        _write(item.nodeid, str(call.when), error, text)
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write a line for a file that cannot be imported."""
    if report.failed:
        lines = report.longreprtext.strip().splitlines() or [""]
        _write(report.nodeid, "collect", "import", lines[-1].removeprefix("E").strip())


def _write(test: str, phase: str, error: str, text: str) -> None:
    line = {"test": test, "phase": phase, "error": error, "text": text[:_TEXT_LENGTH]}
    with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
