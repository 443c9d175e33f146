"""What every test of the command line leaves as it was."""

import pytest


@pytest.fixture(autouse=True)
def _logs_as_they_were(logs_as_before: None) -> None:
    """A process configures logging once and for all; the tests after this one do not."""
