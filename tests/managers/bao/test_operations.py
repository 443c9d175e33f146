"""managers.bao.client: the requests that read and change raft."""

from pathlib import Path

import pytest

from managers.bao.client import BaoError, Denied
from managers.bao.models import AutopilotState, ServerState
from tests.managers.bao.servers import ADDRESS, RecordedRequest, serving

STATE = "sys/storage/raft/autopilot/state"
SETTINGS = "sys/storage/raft/autopilot/configuration"


async def test_step_down_has_an_empty_response(tmp_path: Path) -> None:
    async with serving(tmp_path, {"sys/step-down": (204, None)}) as server, server.client() as bao:
        await bao.step_down(ADDRESS, "token")
    assert server.requests == [RecordedRequest("PUT", "/v1/sys/step-down", "token", None)]


async def test_the_autopilot_state_is_read(tmp_path: Path) -> None:
    body = {
        "data": {
            "healthy": True,
            "failure_tolerance": 1,
            "leader": "x-0",
            "voters": ["x-0"],
            "servers": {"x-0": {"healthy": True, "status": "leader", "meta": None}},
        }
    }
    async with serving(tmp_path, {STATE: (200, body)}) as server, server.client() as bao:
        autopilot_state = await bao.autopilot_state(ADDRESS, "token")
    assert autopilot_state == AutopilotState(
        healthy=True,
        failure_tolerance=1,
        leader="x-0",
        voters=("x-0",),
        servers={"x-0": ServerState(healthy=True, status="leader")},
    )


async def test_autopilot_settings_are_read_and_written_at_one_path(tmp_path: Path) -> None:
    answers = {SETTINGS: (200, {"data": {"min_quorum": 3}})}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        assert await bao.autopilot_settings(ADDRESS, "token") == {"min_quorum": 3}
        await bao.set_autopilot(ADDRESS, "token", {"min_quorum": 4})
    assert [(request.method, request.body) for request in server.requests] == [
        ("GET", None),
        ("POST", {"min_quorum": 4}),
    ]


@pytest.mark.parametrize("code", [400, 403, 404])
async def test_a_refusal_carries_its_code(tmp_path: Path, code: int) -> None:
    answers = {"sys/step-down": (code, {"errors": ["permission denied"]})}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        with pytest.raises(Denied, match="permission denied") as caught:
            await bao.step_down(ADDRESS, "token")
    assert caught.value.code == code


async def test_a_standby_that_cannot_forward_is_not_a_refusal(tmp_path: Path) -> None:
    async with serving(tmp_path, {STATE: (503, {"errors": []})}) as server, server.client() as bao:
        with pytest.raises(BaoError):
            await bao.autopilot_state(ADDRESS, "token")


async def test_a_peer_is_removed_by_its_node_id(tmp_path: Path) -> None:
    path = "sys/storage/raft/remove-peer"
    async with serving(tmp_path, {path: (204, None)}) as server, server.client() as bao:
        await bao.remove_peer(ADDRESS, "token", "x-2")
    assert server.requests == [
        RecordedRequest("POST", f"/v1/{path}", "token", {"server_id": "x-2"})
    ]


MOUNT = "sys/auth/jwt-operator"


async def test_an_existing_auth_method_is_not_a_refusal(tmp_path: Path) -> None:
    taken = {"errors": ["path is already in use at jwt-operator/"]}
    async with serving(tmp_path, {MOUNT: (400, taken)}) as server, server.client() as bao:
        await bao.enable_login(ADDRESS, "token")
    assert server.requests == [RecordedRequest("POST", f"/v1/{MOUNT}", "token", {"type": "jwt"})]


@pytest.mark.parametrize("code", [400, 403])
async def test_a_denied_auth_method_is_a_refusal(tmp_path: Path, code: int) -> None:
    answers = {MOUNT: (code, {"errors": ["permission denied"]})}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        with pytest.raises(Denied):
            await bao.enable_login(ADDRESS, "token")


async def test_any_path_is_written(tmp_path: Path) -> None:
    async with serving(tmp_path, {"sys/x": (204, None)}) as server, server.client() as bao:
        await bao.write(ADDRESS, "token", "sys/x", {"a": "b"})
    assert server.requests == [RecordedRequest("POST", "/v1/sys/x", "token", {"a": "b"})]


async def test_a_delete_names_its_path(tmp_path: Path) -> None:
    path = "sys/mounts/old"
    async with serving(tmp_path, {path: (204, None)}) as server, server.client() as bao:
        await bao.delete(ADDRESS, "token", path)
    assert server.requests == [RecordedRequest("DELETE", f"/v1/{path}", "token", None)]


async def test_capabilities_are_read(tmp_path: Path) -> None:
    path = "sys/capabilities-self"
    answers = {path: (200, {"capabilities": ["read"], "data": {"secret/a": ["read"]}})}
    async with serving(tmp_path, answers) as server, server.client() as bao:
        assert await bao.capabilities(ADDRESS, "token", ("secret/a",)) == {"secret/a": ["read"]}
    assert server.requests == [
        RecordedRequest("POST", f"/v1/{path}", "token", {"paths": ["secret/a"]})
    ]
