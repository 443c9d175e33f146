"""The first boot on a real server: the logins afterwards, and their permissions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.job_roles import DEFAULTS, OPERATOR_ROLE
from contracts.api.cluster.self_init import SelfInitRequest
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config, render_self_init
from contracts.hcl.roles import AuthRole, backup_role, operator_role, restore_role, upgrade_role
from tests.integration.account_tokens import AUDIENCE, ISSUER, OPERATOR, Signer
from tests.integration.bao_server import NODE_ID, BaoServer, serve

ACCOUNTS = {
    OPERATOR_ROLE: OPERATOR,
    **{role: f"system:serviceaccount:ns:c-{job}-serviceaccount" for job, role in DEFAULTS.items()},
}
RUNNER = "system:serviceaccount:tools:runner"


def _roles() -> tuple[AuthRole, ...]:
    backup, upgrade, restore = (DEFAULTS[job] for job in ("backup", "upgrade", "restore"))
    return (
        operator_role((OPERATOR, RUNNER)),
        backup_role(backup, (ACCOUNTS[backup],)),
        upgrade_role(upgrade, (ACCOUNTS[upgrade],), blue_green=False),
        restore_role(restore, (ACCOUNTS[restore],)),
    )


def _config(
    signer: Signer, *requests: Mapping[str, Any], roles: tuple[AuthRole, ...] | None = None
) -> ConfigInput:
    oidc = OidcBootstrap(AUDIENCE, ISSUER, (signer.public,), roles or _roles())
    read = tuple(
        SelfInitRequest.model_validate({"operation": "update", **request}) for request in requests
    )
    return ConfigInput("c", "ns", oidc=oidc, requests=read, autopilot=True)


async def _login(server: BaoServer, role: str, jwt: str) -> tuple[int, Any]:
    return await server.call("POST", "auth/jwt-operator/login", {"role": role, "jwt": jwt})


async def _token(server: BaoServer, role: str, jwt: str) -> str:
    status, answer = await _login(server, role, jwt)
    assert status == 200, answer
    token: str = answer["auth"]["client_token"]
    return token


async def test_the_operator_can_log_in_and_do_its_work_and_nothing_else(
    bao: Path, tmp_path: Path
) -> None:
    signer = Signer()
    config = _config(signer)
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        for refused in (
            signer.token(aud=["other"]),
            signer.token("system:serviceaccount:ns:other"),
            signer.token(iss="https://other.example.com"),
            Signer().token(),
        ):
            assert (await _login(server, OPERATOR_ROLE, refused))[0] == 400
        _, answer = await _login(server, OPERATOR_ROLE, signer.token())
        token = answer["auth"]["client_token"]
        assert answer["auth"]["lease_duration"] == 3600
        status, raft = await server.call("GET", "sys/storage/raft/configuration", token=token)
        assert status == 200
        # The node id is not in config.hcl: it is an environment variable.
        assert [peer["node_id"] for peer in raft["data"]["config"]["servers"]] == [NODE_ID]
        assert (await server.call("GET", "sys/storage/raft/autopilot/state", token=token))[0] == 200
        _, autopilot = await server.call(
            "GET", "sys/storage/raft/autopilot/configuration", token=token
        )
        data = autopilot["data"]
        assert (data["cleanup_dead_servers"], data["min_quorum"]) == (True, 3)
        assert data["dead_server_last_contact_threshold"] == "24h0m0s"
        assert data["server_stabilization_time"] == "2s"
        for path in ("sys/mounts", "sys/policies/acl/root", "sys/storage/raft/snapshot"):
            assert (await server.call("GET", path, token=token))[0] == 403


async def test_each_role_is_for_its_own_account_and_its_own_work(bao: Path, tmp_path: Path) -> None:
    signer, roles = Signer(), _roles()
    config = _config(signer)
    everything = sorted({path for role in roles for path in role.rights} | {"sys/mounts"})
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        for role in roles:
            for account in {*ACCOUNTS.values(), RUNNER}:
                status, _ = await _login(server, role.name, signer.token(account))
                assert (status == 200) == (account in role.subjects), (role.name, account)
            token = await _token(server, role.name, signer.token(role.subjects[0]))
            _, may = await server.call(
                "POST", "sys/capabilities-self", {"paths": everything}, token
            )
            rights = {path: sorted(role.rights.get(path, ("deny",))) for path in everything}
            assert {path: sorted(may["data"][path]) for path in everything} == rights, role.name


async def test_the_operator_can_replace_the_keys_that_its_login_trusts(
    bao: Path, tmp_path: Path
) -> None:
    """The keys that sign ServiceAccount tokens change; both are trusted in between."""
    before, after = Signer(), Signer()
    config = _config(before)
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        token = await _token(server, OPERATOR_ROLE, before.token())
        assert (await _login(server, OPERATOR_ROLE, after.token()))[0] == 400
        keys = {
            "bound_issuer": ISSUER,
            "jwt_validation_pubkeys": sorted((before.public, after.public)),
        }
        status, _ = await server.call("POST", "auth/jwt-operator/config", keys, token)
        assert status == 204
        for signer in (before, after):
            assert (await _login(server, OPERATOR_ROLE, signer.token()))[0] == 200
        _, auth_config = await server.call("GET", "auth/jwt-operator/config", token=token)
        assert auth_config["data"]["bound_issuer"] == ISSUER
        assert len(auth_config["data"]["jwt_validation_pubkeys"]) == 2


EVERY_KIND: tuple[Mapping[str, Any], ...] = (
    {
        "name": "audit",
        "path": "sys/audit/file",
        "auditDevice": {
            "type": "file",
            "description": "first",
            "fileOptions": {"filePath": "AUDIT", "mode": "0600"},
        },
    },
    {
        "name": "userpass",
        "path": "sys/auth/people",
        "authMethod": {
            "type": "userpass",
            "description": "people",
            "config": {"default_lease_ttl": "30m", "max_lease_ttl": "1h"},
        },
    },
    {
        "name": "kv",
        "path": "sys/mounts/secret",
        "secretEngine": {"type": "kv", "options": {"version": "2"}},
    },
    {
        "name": "policy",
        "path": "sys/policies/acl/admin",
        "policy": {"policy": 'path "*" {\n  capabilities = ["read", "list", "sudo"]\n}'},
    },
    {
        "name": "user",
        "path": "auth/people/users/alice",
        "data": {"password": "p", "token_policies": ["admin"]},
    },
    {"name": "missing", "path": "nowhere/at/all", "data": {"a": "b"}, "allowFailure": True},
    # Version 2 is initialized in the background and may refuse the first writes.
    {
        "name": "plain",
        "path": "sys/mounts/plain",
        "secretEngine": {"type": "kv", "options": {"version": "1"}},
    },
    {"name": "first", "path": "plain/a", "data": {"n": 1}},
    {"name": "kept", "path": "plain/b", "data": {"n": 2}},
    {"name": "gone", "operation": "delete", "path": "plain/a"},
    {"name": "seen", "operation": "list", "path": "plain/"},
    {"name": "read", "operation": "read", "path": "sys/mounts"},
)


async def test_requests_of_every_kind_have_their_effect(bao: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.log"
    requests = [dict(item) for item in EVERY_KIND]
    options = {"filePath": str(audit), "mode": "0600"}
    requests[0]["auditDevice"] = {**requests[0]["auditDevice"], "fileOptions": options}
    config = _config(Signer(), *requests)
    text = render_config(config) + "\nunsafe_allow_api_audit_creation = true\n"
    with serve(bao, tmp_path, text, render_self_init(config)) as server:
        await server.active()
        _, login = await server.call("POST", "auth/people/login/alice", {"password": "p"})
        assert login["auth"]["lease_duration"] == 1800
        token = login["auth"]["client_token"]
        _, mounts = await server.call("GET", "sys/mounts", token=token)
        assert mounts["data"]["secret/"]["options"] == {"version": "2"}
        _, auth = await server.call("GET", "sys/auth", token=token)
        assert auth["data"]["people/"]["description"] == "people"
        _, devices = await server.call("GET", "sys/audit", token=token)
        assert devices["data"]["file/"]["options"]["file_path"] == str(audit)
        _, policy = await server.call("GET", "sys/policies/acl/admin", token=token)
        assert "sudo" in policy["data"]["policy"]
        status, _ = await server.call("GET", "plain/a", token=token)
        assert status == 404, "the request that deletes it came after the one that writes it"
        assert (await server.call("GET", "plain/b", token=token))[1]["data"] == {"n": 2}
        assert audit.stat().st_size


async def test_a_request_that_fails_ends_the_server_and_its_log_names_it(
    bao: Path, tmp_path: Path
) -> None:
    bad = {"name": "bad", "path": "nowhere/at/all", "data": {"a": "b"}}
    config = _config(Signer(), bad)
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        with pytest.raises(AssertionError):
            await server.active()
        assert server.process.poll() == 1
        assert "bad-request" in server.log.read_text()


async def test_a_second_initialization_is_refused(bao: Path, tmp_path: Path) -> None:
    config = _config(Signer())
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        status, answer = await server.call("POST", "sys/init", {})
        assert status == 400
        assert "already initialized" in str(answer)
