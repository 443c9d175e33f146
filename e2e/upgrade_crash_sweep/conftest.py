"""Fixtures of the sweeps: operators that crash, and images of all versions."""

import pytest

from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Launcher
from e2e.harness.upgrades import Requests
from e2e.rig import Rig
from e2e.rig.versions import OPENBAO_UPGRADES
from e2e.upgrade_crash_sweep.sweep import Sweep


@pytest.fixture(scope="module")
def campaign(
    rig: Rig,
    api: Api,
    requests: Requests,
    launcher: Launcher,
    controller: Identity,
    tmp_path_factory: pytest.TempPathFactory,
) -> Sweep:
    """Upgrades clusters whose operators are killed."""
    rig.load_openbao(OPENBAO_UPGRADES)
    folder = tmp_path_factory.mktemp("sweep")
    return Sweep(api, requests, launcher, controller, folder)
