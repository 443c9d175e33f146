"""The rendered documents on a real server: it accepts them and reads what was meant."""

import base64
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from contracts.api.selfinit import Request
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config, render_self_init
from contracts.hcl.self_init import OPERATOR_ROLE
from e2e.rig import builds
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO_STAMP, openbao
from runtime.clock import SystemClock
from tests.contracts.hcl.nasty import NASTY
from tests.contracts.hcl.test_render import CASES, GOLDEN, read_case
from tests.integration.bao_server import NODE_ID, ROOT_TOKEN, serve

AUDIENCE = "openbao-internal"
ISSUER = "https://kubernetes.default.svc.cluster.local"
SUBJECT = "system:serviceaccount:openbao-operator-system:openbao-operator-controller"


@pytest.fixture(scope="session")
def bao() -> Path:
    """The server's binary."""
    (binary,) = builds.build(Cache(cache_root()), [openbao(OPENBAO_STAMP)], to_stderr())
    return binary


@pytest.mark.parametrize("case", CASES)
def test_the_server_finds_no_fault_in_the_golden_documents(bao: Path, case: str) -> None:
    """Syntax, types, and keys that it does not know."""
    files = [GOLDEN / case / name for name in ("config.hcl", "self-init.hcl")]
    arguments = [part for file in files for part in ("-config", str(file)) if file.stat().st_size]
    done = subprocess.run(
        [bao, "operator", "validate-config", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "success" in done.stdout
    assert "unknown" not in (done.stdout + done.stderr).lower()


@pytest.mark.parametrize("case", CASES)
async def test_a_first_boot_runs_every_golden_request(bao: Path, tmp_path: Path, case: str) -> None:
    """A request that fails ends the server; one that may fail does not."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    config = _quick(read_case(case))
    if config.oidc:
        config = replace(config, oidc=replace(config.oidc, public_keys=(_public(key),)))
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        if config.root_token_file:
            status, me = await server.call("GET", "auth/token/lookup-self", token=ROOT_TOKEN)
            assert (status, me["data"]["policies"], me["data"]["ttl"]) == (200, ["root"], 0)


def _quick(config: ConfigInput) -> ConfigInput:
    """A patient server waits 5 to 8 s for its first election; timing is not the matter here."""
    return replace(config, performance_multiplier=1)


def _public(key: rsa.RSAPrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def _token(key: rsa.RSAPrivateKey, **claims: Any) -> str:
    """A ServiceAccount token as the API server signs it."""
    now = int(SystemClock().now().timestamp())
    body = {
        "iss": ISSUER,
        "aud": [AUDIENCE],
        "sub": SUBJECT,
        "iat": now,
        "nbf": now,
        "exp": now + 600,
        **claims,
    }
    parts = [_base64(json.dumps(part).encode()) for part in ({"alg": "RS256"}, body)]
    signed = ".".join(parts).encode()
    return f"{signed.decode()}.{_base64(key.sign(signed, padding.PKCS1v15(), hashes.SHA256()))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


DATA: dict[str, Any] = {
    **{f"text {number}": text for number, text in enumerate(NASTY)},
    **{text[:200]: number for number, text in enumerate(NASTY)},
    "numbers": [0, -1, 2**53, 1.5, 1e300, -2.5e-7],
    "booleans": [True, False],
    "lists": [[], [[1, [{"a": 1}]]], [{"b": [{"c": 1}]}]],
    "objects": {"a": {"b": {"c": "d"}}, "e": {}},
}
USER = (
    {"name": "up", "path": "sys/auth/userpass", "authMethod": {"type": "userpass"}},
    {
        "name": "all",
        "path": "sys/policies/acl/all",
        "policy": {"policy": 'path "*" {\n  capabilities = ["read", "sudo"]\n}'},
    },
    {
        "name": "user",
        "path": "auth/userpass/users/u",
        "data": {"password": "p", "token_policies": ["all"]},
    },
    {
        "name": "kv",
        "path": "sys/mounts/secret",
        "secretEngine": {"type": "kv", "options": {"version": "2"}},
    },
    {"name": "write", "path": "secret/data/nasty", "data": {"data": DATA}},
)


async def test_the_server_stores_exactly_what_the_user_wrote(bao: Path, tmp_path: Path) -> None:
    requests = tuple(Request.model_validate({"operation": "update", **user}) for user in USER)
    config = ConfigInput("c", "ns", requests=requests)
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        _, login = await server.call("POST", "auth/userpass/login/u", {"password": "p"})
        token = login["auth"]["client_token"]
        _, stored = await server.call("GET", "secret/data/nasty", token=token)
        assert stored["data"]["data"] == DATA


async def test_the_operator_can_log_in_and_do_its_work_and_nothing_else(
    bao: Path, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    config = ConfigInput("c", "ns", oidc=OidcBootstrap(AUDIENCE, ISSUER, (_public(key),), SUBJECT))
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()

        async def login(jwt: str) -> tuple[int, Any]:
            body = {"role": OPERATOR_ROLE, "jwt": jwt}
            return await server.call("POST", "auth/jwt-operator/login", body)

        for refused in (
            _token(key, aud=["other"]),
            _token(key, sub="system:serviceaccount:ns:other"),
            _token(key, iss="https://other.example.com"),
            _token(stranger),
        ):
            assert (await login(refused))[0] == 400
        _, answer = await login(_token(key))
        token = answer["auth"]["client_token"]
        assert answer["auth"]["lease_duration"] == 3600
        status, raft = await server.call("GET", "sys/storage/raft/configuration", token=token)
        assert status == 200
        # The node id is not in config.hcl: it came by env.
        assert [peer["node_id"] for peer in raft["data"]["config"]["servers"]] == [NODE_ID]
        for path in (
            "sys/storage/raft/autopilot/state",
            "sys/storage/raft/autopilot/configuration",
        ):
            assert (await server.call("GET", path, token=token))[0] == 200
        for path in ("sys/mounts", "sys/policies/acl/root", "sys/storage/raft/snapshot"):
            assert (await server.call("GET", path, token=token))[0] == 403
