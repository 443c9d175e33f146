"""Fixtures of the simulations."""

import logging

import pytest
import structlog

from runtime.cache import reflector


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of objects fills several pages of a list."""
    monkeypatch.setattr(reflector, "LIST_PAGE", 2)


@pytest.fixture
def quiet(logs_as_before: None) -> None:
    """No log lines: thousands of schedules full of faults would write millions of them."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
