"""baoctl datacenter get: the object of an id, the output, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baoctl.commands.api_client import RequestError
from baoctl.commands.datacenter.get import look_up
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.workload_records import ServiceProgress
from runtime.testing.api_server.server import FakeApiServer
from runtime.types import ObjectKey, Resource, uid_of
from tests.baoctl.datacenter_bench import (
    FAILING,
    READY,
    client_at,
    command_line,
    failed_service,
    live_datacenter,
    live_workload,
    server_of,
)
from tests.managers.datacenter.bodies import desired_service, openbao, service

RUNS = ServiceProgress("Running", ready="1/1", provider_ref="Deployment dc-fra1/fra1-dns")


def fleet() -> FakeApiServer:
    return server_of(
        [
            live_datacenter(FAILING, services=2, running=1, failed=1),
            live_workload(desired_service(service("dns")), RUNS),
            live_workload(desired_service(openbao("vault")), failed_service()),
            live_datacenter(READY, name="ams1"),
        ]
    )


async def uid_at(server: FakeApiServer, kind: Resource, name: str) -> str:
    uid = uid_of(await client_at(server).get(kind, ObjectKey("", name)))
    assert uid
    return uid


# sentence: (kind, name, rows, exit status)
NAMED: dict[str, tuple[Resource, str, list[str], int]] = {
    "a datacenter that is not Ready": (DATACENTERS, "fra1", ["dns", "vault"], 3),
    "a datacenter that is Ready": (DATACENTERS, "ams1", [], 0),
    "a service that runs": (WORKLOADS, "fra1.dns", ["dns"], 0),
    "a service that failed": (WORKLOADS, "fra1.vault", ["vault"], 3),
}


@pytest.mark.parametrize(("kind", "name", "rows", "status"), NAMED.values(), ids=NAMED.keys())
async def test_a_uid_or_a_name_is_found(
    kind: Resource, name: str, rows: list[str], status: int
) -> None:
    server = fleet()
    for identity in (await uid_at(server, kind, name), name):
        lookup = await look_up(client_at(server), identity)
        assert lookup.view.name == name.partition(".")[0]
        assert [row.name for row in lookup.view.workloads] == rows
        assert lookup.exit_code == status
    assert {call.method for call in server.requests} == {"GET"}


async def test_a_service_of_an_older_spec_is_not_ready() -> None:
    former = ServiceProgress("Running", digest="former")
    server = server_of(
        [live_datacenter(READY), live_workload(desired_service(service("dns")), former)]
    )
    assert (await look_up(client_at(server), "fra1.dns")).exit_code == 3


async def test_an_unknown_id_is_reported() -> None:
    with pytest.raises(RequestError) as raised:
        await look_up(client_at(fleet()), "x\033" + "y" * 100)
    assert str(raised.value) == (
        f"no Datacenter or BootstrapWorkload has the UID or name 'x\\x1b{'y' * 78}'"
    )


async def test_the_command_prints_the_object(tmp_path: Path) -> None:
    server = fleet()
    uid = await uid_at(server, WORKLOADS, "fra1.dns")
    async with command_line(server, tmp_path) as baoctl:
        well, ill = await baoctl("get", uid), await baoctl("get", "fra1", "-o", "json")
        unknown = await baoctl("get", "ffffffff-0000-4000-8000-000000000000")
    assert well.exit_code == 0
    assert well.stdout.splitlines()[0].startswith("fra1  Active  ")
    assert well.stdout.splitlines()[-2:] == [
        "   └─ dns  Running  Deployment  1/1  declared",
        "         object: Deployment dc-fra1/fra1-dns",
    ]
    assert (ill.exit_code, json.loads(ill.stdout)["ready"]) == (3, False)
    assert (unknown.exit_code, unknown.stdout) == (5, "")
    assert unknown.stderr.startswith("Error: no Datacenter or BootstrapWorkload has the UID")
