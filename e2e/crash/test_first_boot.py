"""The operator crashes before each write of a first boot; the next one completes it."""

from pathlib import Path

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace, sweep
from e2e.crash.campaign import Campaign
from e2e.crash.cases import NAME, cases_of, run
from e2e.harness.audit import AuditLog, refused
from e2e.harness.clusters import expected_belongings
from e2e.harness.crash_points import never_reached, numbered
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Launcher
from e2e.harness.write_key import WriteKey
from managers.context.context import FIELD_MANAGER
from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET


def one_server(namespace: str) -> Object:
    return manifest(namespace, NAME, selfInit=self_init(key_value_engine()))


def three_servers(namespace: str) -> Object:
    return manifest(namespace, NAME, replicas=3, selfInit=self_init(key_value_engine()))


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


@pytest.mark.timeout(900)
def test_a_crash_at_every_write_of_a_first_boot(
    campaign: Campaign,
    make_namespace: MakeNamespace,
    audit: AuditLog,
    controller: Identity,
) -> None:
    mark = audit.mark()
    namespace = make_namespace()
    clean = campaign.writes_of(namespace, one_server(namespace))
    sweep(campaign.api, namespace)
    belongings = expected_belongings(NAME)
    cases = cases_of(campaign, make_namespace, numbered(clean), belongings)
    run(campaign, cases, one_server, 240.0)
    wrong = [str(case) for case in cases if case.faults]
    assert not wrong, "\n".join(wrong)
    assert not (missed := never_reached(cases)), missed
    denied = refused(audit.since(mark, controller.user))
    assert not denied, "\n".join(map(str, denied))


@pytest.mark.timeout(400)
def test_a_crash_during_the_scale_out_to_three_servers(
    campaign: Campaign, make_namespace: MakeNamespace
) -> None:
    document = names.self_init_config_map(NAME)
    moments = [
        # The first patch creates the StatefulSet; the second removes self-init and scales out.
        (WriteKey("patch", STATEFUL_SET.plural, "", names.stateful_set(NAME), FIELD_MANAGER), 2),
        (WriteKey("delete", CONFIG_MAP.plural, "", document, ""), 1),
    ]
    cases = cases_of(campaign, make_namespace, moments, expected_belongings(NAME, replicas=3))
    run(campaign, cases, three_servers, 300.0)
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    assert all(case.result and case.result.crashed for case in cases)
