"""Restores global state after every test of the command line."""

import pytest


@pytest.fixture(autouse=True)
def _logs_as_they_were(logs_as_before: None) -> None:
    """Restore the logging configuration, which a process sets only once."""
