"""The rendered configuration on a real server: accepted, and read as intended."""

import json
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.self_init import SelfInitRequest
from contracts.hcl.render import ConfigInput, render_config, render_self_init, restart_text
from contracts.hcl.stanzas import Stanza
from contracts.naming import mount_paths
from e2e.rig import images
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO, OPENBAO_OLDEST
from runtime.clock import SystemClock
from tests.contracts.hcl.golden_cases import CASES, GOLDEN, read_case
from tests.contracts.hcl.nasty import NASTY
from tests.integration.account_tokens import Signer
from tests.integration.bao_server import ROOT_TOKEN, serve
from tests.integration.server_features import UNKNOWN_TO_THIS_SERVER, is_newer

# Cases that need a syslog daemon, an audit collector, accounts of metric services, or plugin files.
NOT_STARTED = {
    "audit-http",
    "audit-network",
    "plugins-command",
    "plugins-image",
    "telemetry-services",
}
# Cases that need a key service: test_seal_server.py starts servers with each seal.
ELSEWHERE = "seal-"


STARTED = [
    case
    for case in CASES
    if not is_newer(case) and case not in NOT_STARTED and not case.startswith(ELSEWHERE)
]


@pytest.mark.parametrize("case", CASES)
def test_the_server_accepts_the_golden_documents(bao: Path, case: str) -> None:
    """Syntax, types, and unknown keys."""
    files = [GOLDEN / case / name for name in ("config.hcl", "self-init.hcl")]
    arguments = [part for file in files for part in ("-config", str(file)) if file.stat().st_size]
    done = subprocess.run(
        [bao, "operator", "validate-config", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    stdout = done.stdout + done.stderr
    unknown = set(re.findall(r"[Uu]nknown or unsupported field (\w+)", stdout))
    if is_newer(case):
        assert unknown <= UNKNOWN_TO_THIS_SERVER, stdout
        assert "failure" not in stdout
        return
    assert not unknown
    assert done.returncode == 0, stdout
    assert "success" in done.stdout


@pytest.mark.parametrize("case", STARTED)
async def test_a_first_boot_runs_every_golden_request(bao: Path, tmp_path: Path, case: str) -> None:
    """A failed request ends the server, unless it is allowed to fail."""
    config = _quick(read_case(case))
    if config.oidc:
        config = replace(config, oidc=replace(config.oidc, public_keys=(Signer().public,)))
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        if config.root_token_file:
            status, me = await server.call("GET", "auth/token/lookup-self", token=ROOT_TOKEN)
            assert (status, me["data"]["policies"], me["data"]["ttl"]) == (200, ["root"], 0)
            _, devices = await server.call("GET", "sys/audit", token=ROOT_TOKEN)
            devices = json.loads(
                json.dumps(devices).replace(str(tmp_path / "audit"), mount_paths.AUDIT)
            )
            audit_devices = {
                path: _audit_device(device) for path, device in devices["data"].items()
            }
            assert audit_devices == {
                f"{stanza.name}/": _expected_device(stanza) for stanza in config.audits
            }


def _audit_device(device: dict[str, Any]) -> tuple[str, str, Any]:
    return device["type"], device["description"], device["options"]


def _expected_device(stanza: Stanza) -> tuple[str, Any, Any]:
    return stanza.type, stanza.attributes["description"] or "", stanza.attributes["options"]


def _quick(config: ConfigInput) -> ConfigInput:
    """With the default multiplier, the first election takes 5 to 8 s; there is no key service."""
    return replace(config, performance_multiplier=1, seal=ConfigInput("c", "ns").seal)


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
    # Version 1: a mount of version 2 is not ready for writes immediately.
    {
        "name": "kv",
        "path": "sys/mounts/secret",
        "secretEngine": {"type": "kv", "options": {"version": "1"}},
    },
    {"name": "write", "path": "secret/nasty", "data": DATA},
)


@pytest.mark.parametrize("version", [OPENBAO_OLDEST, OPENBAO])
async def test_the_server_stores_exactly_what_the_user_wrote(tmp_path: Path, version: str) -> None:
    bao = images.openbao_binary(Cache(cache_root()), version, to_stderr())
    requests = tuple(
        SelfInitRequest.model_validate({"operation": "update", **user}) for user in USER
    )
    config = ConfigInput("c", "ns", version=version, requests=requests)
    with serve(bao, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        _, login = await server.call("POST", "auth/userpass/login/u", {"password": "p"})
        token = login["auth"]["client_token"]
        _, stored = await server.call("GET", "secret/nasty", token=token)
        assert stored["data"] == DATA


async def test_a_signal_reloads_the_settings_that_need_no_restart(
    bao: Path, tmp_path: Path
) -> None:
    """`restart_text` omits the settings that a running server reloads."""
    before = replace(read_case("audit-stdout"), audits=())
    after = replace(
        read_case("audit-stdout"),
        settings={
            **before.settings,
            "log_level": "debug",
            "introspection_endpoint": True,
            "unsafe_allow_api_audit_creation": True,
        },
    )
    assert restart_text(before) == restart_text(after)
    clock = SystemClock()
    with serve(bao, tmp_path, render_config(before), render_self_init(before)) as server:
        await server.active()
        body = {"type": "file", "options": {"file_path": "discard"}}
        status, _ = await server.call("PUT", "sys/audit/mine", body, token=ROOT_TOKEN)
        assert status == 400
        file = tmp_path / "config.hcl"
        added = render_config(after).removeprefix(render_config(before).split("log_level")[0])
        file.write_text(file.read_text().split("log_level")[0] + added)
        server.process.send_signal(signal.SIGHUP)
        deadline, data = clock.monotonic() + 20, set[str]()
        while not data and clock.monotonic() < deadline:
            await clock.sleep(0.1)
            _, devices = await server.call("GET", "sys/audit", token=ROOT_TOKEN)
            data = set(devices["data"])
        assert data == {"stdout/"}
        status, _ = await server.call("PUT", "sys/audit/mine", body, token=ROOT_TOKEN)
        assert status in (200, 204)
        inspect = "sys/internal/inspect/router/root"
        assert (await server.call("GET", inspect, token=ROOT_TOKEN))[0] == 200
        assert server.process.poll() is None
