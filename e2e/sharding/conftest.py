"""Operators of shards with separate users, to distinguish them in the audit log."""

from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness.installation import SHARDS_ROLE, Identity, add_account, apply_rights, identity
from e2e.harness.kubernetes import Api
from e2e.rig import Rig

MakeIdentity = Callable[[str], Identity]


@pytest.fixture(scope="module")
def make_identity(rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory) -> MakeIdentity:
    """Returns identities with the rights of the operator, including those for shards."""
    apply_rights(rig, "shards")
    folder: Path = tmp_path_factory.mktemp("shards")

    def make(name: str) -> Identity:
        account = f"openbao-operator-{name}"
        add_account(api, account, SHARDS_ROLE)
        return identity(rig, api, folder, account)

    return make
