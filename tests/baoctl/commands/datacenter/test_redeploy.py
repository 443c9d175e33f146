"""baoctl datacenter redeploy: the request that it writes, and when it writes none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from baoctl.commands.api_client import RequestError
from baoctl.commands.datacenter.redeploy import (
    ATTEMPTS_MAX,
    RedeployResult,
    request_redeploy,
    summary,
)
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.objects import SERVICES_MAX
from contracts.datacenter.workload_records import ServiceProgress
from runtime.client.transport import HttpRequest
from runtime.testing.api_server.faults import Fault, FaultKind, Faults, ScriptedFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests import gen
from tests.baoctl.datacenter_bench import (
    NOW,
    READY,
    client_at,
    command_line,
    keep,
    live_datacenter,
    live_workload,
    server_of,
)
from tests.managers.datacenter.bodies import desired_service, openbao, service

TOKEN = "2030-01-01T12:00:00.000Z"
VAULT = live_workload(desired_service(openbao("vault")), ServiceProgress("Running"))
SHIPPER = live_workload(desired_service(service("shipper"), "set/logging"))


def fra1(*orders: tuple[str, str], **spec: Any) -> Object:
    """A Datacenter with these requests, by name and token; None without the field."""
    listed = [{"name": name, "token": token} for name, token in orders]
    return live_datacenter(READY, spec={**({"redeploy": listed} if listed else {}), **spec})


def holding(live: Object) -> FakeApiServer:
    return server_of([live, VAULT, SHIPPER])


def fra1_of(server: FakeApiServer) -> Object:
    return gen.present(server.get(DATACENTERS, ObjectKey("", "fra1")))


def orders_of(server: FakeApiServer) -> dict[str, str] | None:
    listed = fra1_of(server)["spec"].get("redeploy")
    return None if listed is None else {item["name"]: item["token"] for item in listed}


def writes(server: FakeApiServer) -> list[str]:
    return [call.method for call in server.requests if call.method != "GET"]


async def redeploy_result(
    server: FakeApiServer,
    target: str = "fra1/vault",
    token: str | None = None,
    faults: Faults | None = None,
) -> RedeployResult:
    return await request_redeploy(client_at(server, faults), ManualClock(NOW), target, token)


# sentence: (Datacenter, token, requests afterwards, the previous token)
WRITTEN: dict[str, tuple[Object, str | None, dict[str, str], str]] = {
    "the first request": (fra1(), None, {"vault": TOKEN}, ""),
    "an empty list": (fra1(redeploy=[]), None, {"vault": TOKEN}, ""),
    "beside others": (
        fra1(("shipper", "a")), None, {"shipper": "a", "vault": TOKEN}, "",
    ),
    "a replaced request": (
        fra1(("shipper", "a"), ("vault", "b"), ("x", "c")), None,
        {"shipper": "a", "vault": TOKEN, "x": "c"}, "b",
    ),
    "a token of the user": (fra1(("vault", "b")), "again", {"vault": "again"}, "b"),
    "a full list with the service": (
        fra1(("vault", "b"), *((f"s{n}", "t") for n in range(SERVICES_MAX - 1))), "again",
        {"vault": "again", **{f"s{n}": "t" for n in range(SERVICES_MAX - 1)}}, "b",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("live", "token", "expected", "before"), WRITTEN.values(), ids=WRITTEN.keys()
)
async def test_a_request_is_added_or_replaced(
    live: Object, token: str | None, expected: dict[str, str], before: str
) -> None:
    server = holding(live)
    done = await redeploy_result(server, token=token)
    assert (orders_of(server), writes(server)) == (expected, ["PATCH"])
    assert done == RedeployResult("fra1", "vault", token or TOKEN, before, "Active", written=True)


async def test_only_the_field_redeploy_changes() -> None:
    server = holding(fra1(("shipper", "a"), state="Draining"))
    before = fra1_of(server)
    await redeploy_result(server)
    after = fra1_of(server)
    changed = {name for name in after["spec"] if after["spec"][name] != before["spec"].get(name)}
    assert changed == {"redeploy"}
    assert (after["status"], after["metadata"].get("labels")) == (before["status"], None)


async def test_an_existing_request_is_not_written() -> None:
    server = holding(fra1(("vault", "again")))
    done = await redeploy_result(server, token="again")
    assert done == RedeployResult("fra1", "vault", "again", "again", "Active", written=False)
    assert writes(server) == []


# sentence: (Datacenter, target, token, message)
REFUSED: dict[str, tuple[Object, str, str | None, str]] = {
    "no such service": (
        fra1(), "fra1/valut", None,
        "there is no service valut in Datacenter fra1, only shipper, vault",
    ),
    "no such datacenter": (fra1(), "fra2/vault", None, "there is no Datacenter fra2, only fra1"),
    "no service": (
        fra1(), "fra1", None, "'fra1': must be DC/SERVICE, such as fra1/log-shipper",
    ),
    "an invalid name of a service": (
        fra1(), "fra1/../x\n", None,
        "'fra1/../x\\n': must be DC/SERVICE, such as fra1/log-shipper",
    ),
    "no token": (
        fra1(), "fra1/vault", "",
        "vault with token '': token: String should have at least 1 character",
    ),
    "a token of several lines": (
        fra1(), "fra1/vault", "a\nb",
        "vault with token 'a\\nb': token: String should match pattern "
        "'^[^\\x00-\\x1f\\x7f]+$'",
    ),
    "a full list": (
        fra1(*((f"s{n}", "t") for n in range(SERVICES_MAX))), "fra1/vault", None,
        "spec.redeploy of Datacenter fra1 has 32 requests, the maximum is 32: remove completed "
        "ones",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("live", "target", "token", "message"), REFUSED.values(), ids=REFUSED.keys()
)
async def test_an_invalid_request_is_reported(
    live: Object, target: str, token: str | None, message: str
) -> None:
    server = holding(live)
    before = orders_of(server)
    with pytest.raises(RequestError) as raised:
        await redeploy_result(server, target, token)
    assert str(raised.value) == message
    assert (orders_of(server), writes(server)) == (before, [])


async def test_a_datacenter_without_services_is_reported() -> None:
    with pytest.raises(
        RequestError, match=r"^there is no service vault in .* fra1; it has no services$"
    ):
        await redeploy_result(server_of([fra1()]))


@pytest.mark.parametrize(
    ("leaving", "message"),
    [
        (VAULT, "service vault of Datacenter fra1 is being deleted"),
        (fra1(), "Datacenter fra1 and its services are being deleted"),
    ],
    ids=["the service", "the datacenter"],
)
async def test_a_terminating_service_is_not_redeployed(leaving: Object, message: str) -> None:
    server = holding(fra1())
    held = {**leaving, "metadata": {**leaving["metadata"], "finalizers": ["test/hold"]}}
    keep(server, held)
    kind = next(
        resource for resource in (DATACENTERS, WORKLOADS) if resource.kind == leaving["kind"]
    )
    server.remove(kind, ObjectKey("", leaving["metadata"]["name"]))
    with pytest.raises(RequestError) as raised:
        await redeploy_result(server)
    assert (str(raised.value), writes(server)) == (message, [])


# --- concurrent writes ---------------------------------------------------------------------------


@dataclass(slots=True)
class Between:
    """Faults that let another client write right before each of the first patches."""

    act: Callable[[int], None]
    times: int
    failures: int = 0

    def next(self, call: HttpRequest) -> Fault | None:
        if call.method == "PATCH" and self.failures < self.times:
            self.failures += 1
            self.act(self.failures)
        return None


async def test_a_concurrent_request_of_another_user_is_kept() -> None:
    server = holding(fra1(("vault", "b")))
    # The index of the entry changes, too.
    between = Between(lambda _: keep(server, fra1(("shipper", "new"), ("vault", "b"))), 1)
    await redeploy_result(server, faults=between)
    assert orders_of(server) == {"shipper": "new", "vault": TOKEN}
    assert writes(server) == ["PATCH", "PATCH"]


async def test_it_fails_after_too_many_conflicts() -> None:
    server = holding(fra1())
    between = Between(lambda n: keep(server, fra1(("shipper", f"t{n}"))), ATTEMPTS_MAX)
    with pytest.raises(RequestError, match=r"other clients changed it during 5 attempts"):
        await redeploy_result(server, faults=between)
    assert (orders_of(server), len(writes(server))) == (
        {"shipper": f"t{ATTEMPTS_MAX}"},
        ATTEMPTS_MAX,
    )


async def test_a_lost_response_is_resolved_by_a_read() -> None:
    server = holding(fra1(("vault", "b")))
    faults = ScriptedFaults(Fault(FaultKind.LOST_REPLY), where="PATCH ")
    done = await redeploy_result(server, faults=faults)
    assert done == RedeployResult("fra1", "vault", TOKEN, "b", "Active", written=True)
    assert (orders_of(server), writes(server)) == ({"vault": TOKEN}, ["PATCH"])


# --- output --------------------------------------------------------------------------------------

FOLLOW = "follow it with: baoctl datacenter status fra1 --until-ready"
# sentence: (previous token, state, written, text)
SAID: dict[str, tuple[str, str, bool, str]] = {
    "the first request": (
        "", "Active", True,
        f"fra1/vault: requested with token t. Its pods are replaced; {FOLLOW}",
    ),
    "another one": (
        "b", "Draining", True,
        f"fra1/vault: requested with token t (previous: b). Its pods are replaced; {FOLLOW}",
    ),
    "later": (
        "", "Maintenance", True,
        "fra1/vault: requested with token t. Its pods are replaced once spec.state is no longer "
        f"Maintenance; {FOLLOW}",
    ),
    "nothing": (
        "t", "Active", False,
        "fra1/vault: the request t already exists; nothing was changed. To replace the pods "
        "again, use another --token.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "state", "is_written", "text"), SAID.values(), ids=SAID.keys())
def test_the_summary_describes_the_result(
    before: str, state: str, is_written: bool, text: str
) -> None:
    assert summary(RedeployResult("fra1", "vault", "t", before, state, is_written)) == text


def test_text_of_other_users_is_escaped() -> None:
    assert "\033" not in summary(
        RedeployResult("fra1", "vault", "t", "\033[2J", "Active", written=True)
    )


async def test_the_command(tmp_path: Path) -> None:
    server = holding(fra1(("vault", "b"), state="Offline"))
    async with command_line(server, tmp_path) as baoctl:
        done = await baoctl("redeploy", "fra1/vault", "--token", "again")
        wrong = await baoctl("redeploy", "fra1/none")
    assert (done.exit_code, done.stdout) == (
        0,
        "fra1/vault: requested with token again (previous: b). Its pods are replaced once "
        f"spec.state is no longer Offline; {FOLLOW}\n",
    )
    assert (wrong.exit_code, wrong.stdout) == (5, "")
    assert wrong.stderr == (
        "Error: there is no service none in Datacenter fra1, only shipper, vault\n"
    )
    assert orders_of(server) == {"vault": "again"}
