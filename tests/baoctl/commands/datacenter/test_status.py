"""baoctl datacenter status: its requests, its errors, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baoctl.commands.api_client import RequestError
from baoctl.commands.datacenter.reading import view_of
from baoctl.commands.datacenter.status import fetch
from baoctl.commands.datacenter.view import as_json
from contracts.datacenter.kinds import DATACENTERS
from contracts.datacenter.workload_records import ServiceProgress
from runtime.testing.api_server.server import FakeApiServer
from tests.baoctl.datacenter_bench import (
    FAILING,
    READY,
    client_at,
    command_line,
    condition,
    failed_service,
    live_datacenter,
    live_workload,
    server_of,
    source,
)
from tests.managers.datacenter.bodies import desired_service, openbao, service

RUNS = ServiceProgress("Running", ready="1/1")
VAULT = desired_service(openbao("vault"))


def fleet(*names: str) -> FakeApiServer:
    return server_of(live_datacenter(READY, name=name) for name in names)


async def test_only_workloads_of_the_datacenter_are_read() -> None:
    other = live_workload(desired_service(service("other")), RUNS, name="ams1.other")
    other["metadata"]["labels"] = {"openbao.org/datacenter": "ams1"}
    server = server_of([live_datacenter(READY), live_workload(VAULT, RUNS), other])
    view = await fetch(client_at(server), "fra1")
    assert [(each.name, each.state) for each in view.workloads] == [("vault", "Running")]
    assert view.is_ready
    assert {call.method for call in server.requests} == {"GET"}


MANY = [f"dc{number:02}" for number in range(12)]
# sentence: (server, name, message)
ABSENT: dict[str, tuple[FakeApiServer, str, str]] = {
    "others": (fleet("fra1", "ams1"), "fra2", "there is no Datacenter fra2, only ams1, fra1"),
    "no other": (fleet(), "fra2", "there is no Datacenter fra2; there are no Datacenters"),
    "more than ten": (
        fleet(*MANY), "fra2",
        f"there is no Datacenter fra2, only {', '.join(MANY[:10])} and 2 more",
    ),
    "no name": (
        fleet("fra1"), "../x\033",
        "'../x\\x1b' is not a valid name of a datacenter: must be lower-case letters, digits "
        "and dashes, and begin with a letter",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("server", "name", "message"), ABSENT.values(), ids=ABSENT.keys())
async def test_a_missing_datacenter_is_reported(
    server: FakeApiServer, name: str, message: str
) -> None:
    with pytest.raises(RequestError) as raised:
        await fetch(client_at(server), name)
    assert str(raised.value) == message


def test_the_json_contains_all_fields() -> None:
    progress = failed_service(ready="0/3", service_refs=(("vault", "Service x/y"),))
    obj = live_workload(VAULT, progress)
    conflict = condition("NoConflicts", "False", "Conflict", "told")
    sources = (source("set/a", 2, priority=10, error="gone"),)
    live = live_datacenter(FAILING, conflict, services=2, failed=1, sources=sources)
    assert json.loads(as_json(view_of(live, [obj]))) == {
        "name": "fra1", "state": "Active", "region": "eu-central", "zone": "eu-central-1a",
        "namespace": "dc-fra1", "deleting": False, "generation": 1, "observed_generation": 1,
        "services": 2, "running": 0, "failed": 1, "ready": False, "problems": [],
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "ServicesFailed",
             "message": "for a person"},
            {"type": "NoConflicts", "status": "False", "reason": "Conflict", "message": "told"},
        ],
        "sources": [
            {"name": "set/a", "priority": 10, "services": 2, "error": "gone",
             "last_good_time": "2029-12-31T12:00:00Z"}
        ],
        "workloads": [
            {"name": "vault", "state": "Failed", "kind": "OpenBaoCluster", "ready": "0/3",
             "source": "declared", "depends_on": [], "message": "image not found",
             "attempts": 3, "next_retry": "2030-01-01T12:00:08Z", "running_since": None,
             "error_reason": "ImagePullFailed", "error": "image not found",
             "retiring": False, "outdated": False, "problem": "", "provider_ref": "",
             "service_refs": {"vault": "Service x/y"}}
        ],
    }  # fmt: skip


@pytest.mark.parametrize("command", ["status", "get"])
async def test_missing_custom_resource_definitions_are_reported(
    tmp_path: Path, command: str
) -> None:
    server = server_of([])
    del server._kinds[(DATACENTERS.group, DATACENTERS.version, DATACENTERS.plural)]
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl(command, "fra1")
    told = "Error: the API server does not serve datacenters: apply config/crd first\n"
    assert (result.exit_code, result.stdout, result.stderr) == (5, "", told)


async def test_the_command_prints_the_tree_and_exits_with_its_status(tmp_path: Path) -> None:
    server = server_of(
        [
            live_datacenter(READY, services=1, running=1),
            live_workload(VAULT, RUNS),
            live_datacenter(FAILING, name="ams1"),
        ]
    )
    async with command_line(server, tmp_path) as baoctl:
        well, ill = await baoctl("status", "fra1"), await baoctl("status", "ams1", "-o", "json")
        gone = await baoctl("status", "fra2")
    assert (well.exit_code, well.stdout.splitlines()[-1]) == (
        0, "   └─ vault  Running  OpenBaoCluster  1/1  declared",
    )  # fmt: skip
    assert (ill.exit_code, json.loads(ill.stdout)["ready"]) == (3, False)
    assert (gone.exit_code, gone.stdout) == (5, "")
    assert "no Datacenter fra2, only ams1, fra1" in gone.stderr
    assert {call.method for call in server.requests} == {"GET"}


async def test_an_unreachable_api_server_is_reported(tmp_path: Path) -> None:
    server = fleet("fra1")
    server.up = False
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("status", "fra1")
    assert (result.exit_code, result.stdout) == (6, "")
    assert "/datacenters/fra1" in result.stderr
