"""A first boot whose operator is killed before and after each Kubernetes write that there is."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import pytest

from contracts import names
from e2e.conftest import MakeNamespace, sweep
from e2e.crash.campaign import Campaign, Case
from e2e.harness.audit import AuditLog, refused
from e2e.harness.clusters import Cluster, expected_belongings
from e2e.harness.crashing_operator import Plan
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Launcher
from e2e.harness.write_key import WriteKey
from managers.access.context import FIELD_MANAGER
from runtime.resources import CONFIG_MAP, SECRET, STATEFUL_SET

NAME = "one"
# Clusters that finish side by side: as many as two cores bear without waiting for each other.
BATCH = 20
POSITIONS: tuple[Literal["before", "after"], ...] = ("before", "after")


def one_server(namespace: str) -> Object:
    return manifest(namespace, NAME, selfInit=self_init(key_value_engine()))


def three_servers(namespace: str) -> Object:
    return manifest(namespace, NAME, replicas=3, selfInit=self_init(key_value_engine()))


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


def numbered(keys: Iterable[WriteKey]) -> list[tuple[WriteKey, int]]:
    """Number equal writes from 1, in order."""
    seen: Counter[WriteKey] = Counter()
    found = []
    for key in keys:
        seen[key] += 1
        found.append((key, seen[key]))
    return found


def cases_of(
    campaign: Campaign,
    make_namespace: MakeNamespace,
    moments: Iterable[tuple[WriteKey, int]],
    belongings: set[tuple[str, str]],
) -> list[Case]:
    """Make a case before and a case after each write, each with a namespace of its own."""
    cases = []
    for key, occurrence in moments:
        for position in POSITIONS:
            plan = Plan(make_namespace(), key, occurrence, position)
            cases.append(Case(plan, Cluster(campaign.api, plan.namespace, NAME), belongings))
    return cases


def run(
    campaign: Campaign, cases: list[Case], body_of: Callable[[str], Object], seconds: float
) -> None:
    """Run the cases in batches and print the table."""
    for first in range(0, len(cases), BATCH):
        batch = cases[first : first + BATCH]
        campaign.run(batch, body_of, seconds)
        print("\n".join(map(str, batch)))
        for case in batch:
            sweep(campaign.api, case.plan.namespace)


@pytest.mark.timeout(600)
def test_every_write_of_a_first_boot(
    campaign: Campaign, make_namespace: MakeNamespace, audit: AuditLog, controller: Identity
) -> None:
    mark = audit.mark()
    namespace = make_namespace()
    clean = campaign.writes_of(namespace, one_server(namespace))
    sweep(campaign.api, namespace)
    left = expected_belongings(NAME)
    cases = cases_of(campaign, make_namespace, numbered(clean), left)
    run(campaign, cases, one_server, 60.0)
    wrong = [str(case) for case in cases if case.faults]
    assert not wrong, "\n".join(wrong)
    assert not (missed := never_reached(clean, cases)), missed
    assert not (no := refused(audit.since(mark, controller.user))), "\n".join(map(str, no))


def never_reached(clean: Iterable[WriteKey], cases: Iterable[Case]) -> list[str]:
    """Name the writes at which no operator was killed, before or after.

    A status is written a varying number of times, so not each of its writes need come again.
    """
    reached = {(c.plan.write, c.plan.position) for c in cases if c.result and c.result.crashed}
    wanted = {(key, position) for key in clean for position in POSITIONS}
    return [f"{position} {key}" for key, position in sorted(wanted - reached)]


@pytest.mark.timeout(400)
def test_scale_out_of_three_servers(campaign: Campaign, make_namespace: MakeNamespace) -> None:
    document = names.self_init_config_map(NAME)
    moments = [
        # The first one makes the StatefulSet, the second one takes the document away and scales.
        (WriteKey("patch", STATEFUL_SET.plural, "", names.stateful_set(NAME), FIELD_MANAGER), 2),
        (WriteKey("delete", CONFIG_MAP.plural, "", document, ""), 1),
    ]
    cases = cases_of(campaign, make_namespace, moments, expected_belongings(NAME, replicas=3))
    run(campaign, cases, three_servers, 90.0)
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    assert all(case.result and case.result.crashed for case in cases)


@pytest.mark.timeout(400)
def test_root_token_that_is_drawn(campaign: Campaign, make_namespace: MakeNamespace) -> None:
    token = names.root_token_secret(NAME)
    moments = [(WriteKey("create", SECRET.plural, "", token, FIELD_MANAGER), 1)]
    left = expected_belongings(NAME, root_token=True)
    cases = cases_of(campaign, make_namespace, moments, left)
    run(campaign, cases, root_token, 90.0)
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    assert all(case.result and case.result.crashed for case in cases)
