"""A second operator with the same permissions."""

from pathlib import Path

import pytest

from e2e.harness.installation import Identity, add_account, identity
from e2e.harness.kubernetes import Api
from e2e.rig import Rig

RIVAL = "openbao-operator-rival"


@pytest.fixture(scope="module")
def rival(rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The same permissions for another user, to distinguish the two in the audit log."""
    folder: Path = tmp_path_factory.mktemp("rival")
    add_account(api, RIVAL)
    return identity(rig, api, folder, RIVAL)
