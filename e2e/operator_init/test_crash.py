"""Crashes of the operator during a first boot with a root token."""

from pathlib import Path

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.crash.campaign import Campaign
from e2e.crash.cases import NAME, cases_of, run
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import expected_belongings
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher
from e2e.harness.write_key import WriteKey
from managers.context.context import FIELD_MANAGER
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET


def root_token(namespace: str) -> Object:
    return manifest(namespace, NAME)


@pytest.fixture(scope="module")
def campaign(
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    controller: Identity,
    tmp_path_factory: pytest.TempPathFactory,
) -> Campaign:
    folder: Path = tmp_path_factory.mktemp("campaign")
    return Campaign(api, audit, launcher, controller, folder)


@pytest.mark.timeout(400)
def test_a_crash_of_the_operator_leaves_one_root_token(
    campaign: Campaign, make_namespace: MakeNamespace
) -> None:
    """One token, one key and one cluster, after a crash at any of these writes.

    e2e/crash covers all other writes; a root token depends on these.
    """
    document = names.self_init_config_map(NAME)
    stateful_set = names.stateful_set(NAME)
    moments = [
        # The token is stored, and no server has it.
        (WriteKey("patch", CONFIG_MAP.plural, "", document, FIELD_MANAGER), 1),
        # The first apply started the server with token and self-init, the second one removes both.
        (WriteKey("patch", STATEFUL_SET.plural, "", stateful_set, FIELD_MANAGER), 2),
        (WriteKey("delete", CONFIG_MAP.plural, "", document, ""), 1),
    ]
    left = expected_belongings(NAME, root_token=True)
    cases = cases_of(campaign, make_namespace, moments, left)
    run(campaign, cases, root_token, 90.0)
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    assert all(case.result and case.result.crashed for case in cases)
