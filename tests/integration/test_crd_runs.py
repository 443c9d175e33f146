"""The CRDs of backups and restores on a real API server: accepted without a warning, each rule
refuses, and kubectl shows the status."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from contracts.api.group import BACKUPS, RESTORES
from contracts.api.rules.backup_object import SNAPSHOT_RULES
from contracts.api.rules.restore import RESTORE_RULES
from e2e.rig import Rig
from runtime.client.client import Client
from runtime.errors import Invalid
from runtime.types import Object, Resource, key_of
from tests.contracts.api.case import Case
from tests.contracts.api.run_objects import (
    BACKUP_CASES,
    BACKUP_FINE,
    KEY,
    RESTORE_CASES,
    RESTORE_CODE_CASES,
    RESTORE_FINE,
    Spec,
    backup_object,
    restore_object,
)

MANAGER = "itest"
BODIES = {BACKUPS: backup_object, RESTORES: restore_object}
MESSAGES = {
    **{rule.id: rule.message for rule in SNAPSHOT_RULES},
    **{rule.id: rule.message for rule in RESTORE_RULES},
}


@pytest_asyncio.fixture
async def place(control_plane_with_crds: Rig, namespace: str) -> AsyncIterator[str]:
    """A namespace on a server with the CRDs."""
    yield namespace


async def _apply(
    client: Client, kind: Resource, namespace: str, spec: Spec, *, dry_run: bool
) -> Object:
    body = BODIES[kind](**spec)
    body["metadata"]["namespace"] = namespace
    response = await client.apply(kind, body, field_manager=MANAGER, force=True, dry_run=dry_run)
    return response.object


CASES = [
    *(pytest.param(BACKUPS, case, id=f"backup-{name}") for name, case in BACKUP_CASES.items()),
    *(pytest.param(RESTORES, case, id=f"restore-{name}") for name, case in RESTORE_CASES.items()),
]
FINE = [
    *(pytest.param(BACKUPS, spec, id=f"backup-{name}") for name, spec in BACKUP_FINE.items()),
    *(pytest.param(RESTORES, spec, id=f"restore-{name}") for name, spec in RESTORE_FINE.items()),
    *(
        pytest.param(RESTORES, case.spec, id=f"restore-{name}")
        for name, case in RESTORE_CODE_CASES.items()
    ),
]


@pytest.mark.parametrize(("kind", "case"), CASES)
async def test_it_is_refused_with_field_and_next_step(
    client: Client, place: str, kind: Resource, case: Case
) -> None:
    if case.before is not None:
        await _apply(client, kind, place, case.before, dry_run=False)
    with pytest.raises(Invalid) as caught:
        await _apply(client, kind, place, case.spec, dry_run=True)
    causes = [cause for cause in caught.value.causes if MESSAGES[case.rule] in cause.message]
    assert len(causes) == 1
    assert causes[0].field
    assert case.field.startswith(causes[0].field)


@pytest.mark.parametrize(("kind", "spec"), FINE)
async def test_it_is_accepted(client: Client, place: str, kind: Resource, spec: Spec) -> None:
    stored = await _apply(client, kind, place, spec, dry_run=True)
    assert stored["spec"]["cluster"] == "c"


async def _observe(client: Client, kind: Resource, live: Object, status: dict[str, Any]) -> None:
    body = {key: live[key] for key in ("apiVersion", "kind")}
    body["metadata"] = {key: live["metadata"][key] for key in ("name", "namespace")}
    body["status"] = status
    await client.apply(kind, body, field_manager=MANAGER, force=True, subresource="status")


async def test_the_columns_of_a_backup(
    control_plane_with_crds: Rig, client: Client, place: str
) -> None:
    live = await _apply(client, BACKUPS, place, {}, dry_run=False)
    snapshot = {"key": KEY, "size": 4711, "version": "2.4.0"}
    proof = {"outcome": "Passed", "reason": "RestoreTestPassed"}
    status = {
        "phase": "Completed",
        "reason": "Stored",
        "key": KEY,
        "snapshot": snapshot,
        "proof": proof,
    }
    await _observe(client, BACKUPS, live, status)
    header, row = control_plane_with_crds.kubectl(
        "get", "obackup", "-n", place, "-o", "wide"
    ).splitlines()
    assert header.split() == [
        "NAME", "CLUSTER", "ORIGIN", "PHASE", "SIZE", "PROOF", "AGE", "REASON", "VERSION",
        "KEY",
    ]  # fmt: skip
    columns = row.split()
    assert columns[:6] == ["b", "c", "Manual", "Completed", "4711", "Passed"]
    assert columns[7:] == ["Stored", "2.4.0", KEY]


async def test_the_columns_of_a_restore(
    control_plane_with_crds: Rig, client: Client, place: str
) -> None:
    live = await _apply(client, RESTORES, place, {"source": {"backup": "b"}}, dry_run=False)
    status = {"phase": "Unknown", "execution": {"stage": "Unknown"}, "message": "decide"}
    await _observe(client, RESTORES, live, status)
    header, row = control_plane_with_crds.kubectl("get", "obrestore", "-n", place).splitlines()
    assert header.split() == ["NAME", "CLUSTER", "PHASE", "STAGE", "AGE", "MESSAGE"]
    columns = row.split()
    assert columns[:4] == ["r", "c", "Unknown", "Unknown"]
    assert columns[5:] == ["decide"]


async def test_a_status_write_keeps_the_generation(client: Client, place: str) -> None:
    """Only a changed spec may change the generation."""
    for kind in (BACKUPS, RESTORES):
        live = await _apply(client, kind, place, {}, dry_run=False)
        await _observe(client, kind, live, {"phase": "Running"})
        stored = await client.get(kind, key_of(live))
        assert stored["metadata"]["generation"] == 1


async def test_both_kinds_are_in_the_category_openbao(
    control_plane_with_crds: Rig, place: str
) -> None:
    resources = control_plane_with_crds.kubectl(
        "api-resources", "--categories=openbao", "-o", "name"
    ).split()
    assert {str(BACKUPS), str(RESTORES)} <= set(resources)
