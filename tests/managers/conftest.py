"""Fixtures of the tests of all managers."""

import pytest

from managers.bao import login
from tests.managers.membership.servers import Servers


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    """The servers of every session."""
    servers = Servers()
    monkeypatch.setattr(login, "Bao", lambda authority, name, guard: servers)
    return servers
