"""Fixtures of upgrades between versions: the operators, and the table of what upgrades cost."""

from collections.abc import Iterator

import pytest

from e2e.demo import table
from e2e.harness.installation import Identity
from e2e.harness.operator import Launcher
from e2e.rig import Rig
from e2e.rig.versions import OPENBAO_OLDEST, OPENBAO_RELEASES
from e2e.versions.outcome import HEADERS, Operators, Outcome


@pytest.fixture(scope="module")
def operators(rig: Rig, launcher: Launcher, controller: Identity) -> Operators:
    """The operators of this scenario; the node has the images of all versions."""
    rig.load_openbao((OPENBAO_OLDEST, *OPENBAO_RELEASES))
    return Operators(rig, launcher, controller)


@pytest.fixture(scope="module")
def outcomes() -> Iterator[list[Outcome]]:
    """The cost of each upgrade; printed at the end."""
    outcomes: list[Outcome] = []
    yield outcomes
    print("\n" + table.plain(HEADERS, [result.row() for result in outcomes]))
