"""All seal types on a real server, which accepts all keys of the rendered stanza.

A simulated key service refuses all requests and records them.
"""

import asyncio
import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from contracts.api.cluster.seal import Unseal
from contracts.hcl.render import ConfigInput, render_config
from contracts.hcl.seals import seal_stanza
from contracts.naming import mount_paths
from e2e.rig import builds, packages
from e2e.rig.commands import run
from e2e.rig.paths import TOOLS, Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO_HSM, OPENBAO_OLDEST_SERVER
from runtime.clock import SystemClock
from tests.contracts.hcl.server_seals import ACCEPTED
from tests.integration.bao_server import environment, free_port, in_folder, make_certificate

WRAPPERS = "github.com/openbao/go-kms-wrapping/wrappers"
pytestmark = pytest.mark.timeout(900)  # one server is built by the first test that needs it
LIBRARY = "/usr/lib/softhsm/libsofthsm2.so"
PIN, TOKEN, LABEL = "1234", "openbao", "unseal"
# Some clients retry for a while before they fail.
GIVES_UP = 120.0


@pytest.fixture(scope="session")
def bao() -> Path:
    """The oldest supported server: from 2.7 on most of these seals are plugins."""
    (binary,) = builds.build(Cache(cache_root()), [OPENBAO_OLDEST_SERVER], to_stderr())
    return binary


# --- the keys that the server reads, from its source --------------------------------------------


def _source(seal: str) -> Path:
    """The source folder of a wrapper, in the version of the server."""
    tools = builds.toolchain(Cache(cache_root()), to_stderr())
    module = f"{WRAPPERS}/{seal}/v2"
    process = subprocess.run(
        [tools.go, "mod", "download", "-json", module],
        cwd=TOOLS / "bao",
        env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GONOSUMDB": "*"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(json.loads(process.stdout)["Dir"])


@pytest.mark.parametrize("seal", ACCEPTED)
def test_b31_the_pinned_keys_match_the_source_of_the_server(seal: str) -> None:
    folder = _source(seal)
    text = (folder / "options.go").read_text()
    matches = re.findall(r'^\s+case ((?:"[a-z0-9_]+"(?:, )?)+):', text, re.MULTILINE)
    keys = {key for line in matches for key in re.findall(r'"([a-z0-9_]+)"', line)}
    if not keys:
        # The source uses constants instead of literals.
        keys = set(re.findall(r'^\s+KmsConfig\w+\s+= "([a-z0-9_]+)"', text, re.MULTILINE))
    assert keys == ACCEPTED[seal]


# --- a start that fails at the key service ------------------------------------------------------


@dataclass
class StandIn:
    """Refuses and records all requests."""

    url: str
    requests: "list[str]" = field(default_factory=list)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    seen: StandIn

    class Refuser(http.server.BaseHTTPRequestHandler):
        def _refuse(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode(errors="replace")
            seen.requests.append(f"{self.command} {self.path} {body}")
            answer = json.dumps(
                {
                    "__type": "AccessDeniedException",
                    "message": "not you",
                    "code": "NotAuthorized",
                    "error": "invalid_grant",
                }
            ).encode()
            self.send_response(400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = _refuse  # noqa: N815  the standard library calls them so

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuser)
    seen = StandIn(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield seen
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass(frozen=True)
class UnreachableSeal:
    """A seal whose key service fails: the spec, the environment, and the expected evidence."""

    unseal: Mapping[str, Any]
    environment: Mapping[str, str]
    message: str
    """A pattern in the output of the server."""
    request: str = ""
    """A part of a request to the simulated service."""


def _far(folder: Path, url: str) -> dict[str, UnreachableSeal]:
    return {**_clouds(folder, url), **_others()}


def _clouds(folder: Path, url: str) -> dict[str, UnreachableSeal]:
    creds = mount_paths.SEAL_CREDENTIALS
    return {
        "awskms": UnreachableSeal(
            {"awskms": {"region": "eu-central-1", "kmsKeyID": "alias/mine", "endpoint": url}},
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
            "error fetching AWS KMS wrapping key information: AccessDeniedException: not you",
            "alias/mine",
        ),
        "azurekeyvault": UnreachableSeal(
            {"azureKeyVault": {"vaultName": "v", "keyName": "k", "resource": "vault.invalid"}},
            {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s"},
            r'Get "https://v\.vault\.invalid/keys/k/',
        ),
        "gcpckms": UnreachableSeal(
            {
                "gcpCloudKMS": {
                    "project": "p",
                    "region": "r",
                    "keyRing": "g",
                    "cryptoKey": "k",
                    "credentials": f"{creds}/credentials.json",
                }
            },
            {},
            # With valid credentials it would retry requests to Google for a minute.
            "failed to create KMS client: credential",
        ),
        "ocikms": UnreachableSeal(
            {
                "ocikms": {
                    "keyID": "ocid1.key.mine",
                    "cryptoEndpoint": url,
                    "managementEndpoint": url,
                    "authTypeAPIKey": True,
                }
            },
            {"OCI_CONFIG_FILE": f"{folder}/creds/config"},
            "NotAuthorized",
            "ocid1.key.mine",
        ),
    }


def _others() -> dict[str, UnreachableSeal]:
    creds = mount_paths.SEAL_CREDENTIALS
    return {
        "kmip": UnreachableSeal(
            {
                "kmip": {
                    "endpoint": f"127.0.0.1:{free_port()}",
                    "kmsKeyID": "1",
                    "clientCert": f"{creds}/tls.crt",
                    "clientKey": f"{creds}/tls.key",
                    "caCert": f"{creds}/ca.crt",
                    "serverName": "kmip",
                    "timeout": 2,
                }
            },
            {},
            "failed to dial kmip connection endpoint: .*connection refused",
        ),
        "transit": UnreachableSeal(
            {
                "transit": {
                    "address": f"https://127.0.0.1:{free_port()}",
                    "keyName": "mine",
                    "mountPath": "transit/",
                    "tlsCACert": f"{creds}/ca.crt",
                }
            },
            {"VAULT_TRANSIT_SEAL_TOKEN": "s.x"},
            "/v1/transit/encrypt/mine.*connection refused",
        ),
    }


def _credentials(folder: Path) -> None:
    """The files of a Secret: for Google, Oracle and KMIP."""
    creds = folder / "creds"
    creds.mkdir()
    make_certificate(creds)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    account = {"type": "somebody_else", "project_id": "p"}
    (creds / "credentials.json").write_text(json.dumps(account))
    (creds / "api.pem").write_text(pem)
    profile = "[DEFAULT]\nuser=ocid1.user.a\nfingerprint=aa:bb\ntenancy=ocid1.tenancy.a\n"
    (creds / "config").write_text(f"{profile}region=eu-frankfurt-1\nkey_file={creds}/api.pem\n")


def _write_config(folder: Path, spec: Mapping[str, Any]) -> Path:
    """Write config.hcl for that seal, with the folders of a pod in `folder`."""
    seal = seal_stanza(Unseal.model_validate(spec))
    text = render_config(replace(ConfigInput("c", "ns"), seal=seal))
    for name in ("data", "tls"):
        (folder / name).mkdir()
    make_certificate(folder / "tls")
    text = in_folder(text, folder, free_port())
    text = text.replace(mount_paths.SEAL_CREDENTIALS, str(folder / "creds"))
    config = folder / "config.hcl"
    config.write_text(text)
    return config


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**environment(1), "HOME": "/nonexistent", **more}


@pytest.mark.parametrize("seal", sorted(_far(Path(), "")))
def test_the_server_contacts_the_key_service(
    bao: Path, tmp_path: Path, stand_in: StandIn, seal: str
) -> None:
    _credentials(tmp_path)
    far = _far(tmp_path, stand_in.url)[seal]
    config = _write_config(tmp_path, {"type": seal, **far.unseal})
    assert "success" in run(str(bao), "operator", "validate-config", "-config", str(config))
    ended = subprocess.run(
        [bao, "server", "-config", config],
        env=_environment(far.environment),
        capture_output=True,
        text=True,
        timeout=GIVES_UP,
        check=False,
    )
    stdout = ended.stdout + ended.stderr
    assert ended.returncode == 1, stdout[-2000:]
    assert "Error parsing Seal configuration" in stdout
    assert re.search(far.message, stdout), stdout[-2000:]
    if far.request:
        assert any(far.request in request for request in stand_in.requests), stand_in.requests


# --- PKCS#11, with a token in software ----------------------------------------------------------


@pytest.fixture(scope="session")
def bao_hsm() -> Path:
    """The server with support for hardware modules."""
    packages.ensure(packages.HSM, to_stderr())
    (binary,) = builds.build(Cache(cache_root()), [OPENBAO_HSM], to_stderr())
    return binary


def _token(folder: Path) -> dict[str, str]:
    """Create a token with one RSA key; return the environment variables of the library."""
    (folder / "tokens").mkdir()
    configuration = folder / "softhsm2.conf"
    configuration.write_text(f"directories.tokendir = {folder}/tokens\n")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = folder / "key.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    environment = {"SOFTHSM2_CONF": str(configuration)}
    for arguments in (
        ("--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", PIN * 2),
        ("--import", str(pem), "--token", TOKEN, "--label", LABEL, "--id", "A1", "--pin", PIN),
    ):
        subprocess.run(
            ["softhsm2-util", *arguments],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
        )
    return environment


HSM = {
    "type": "pkcs11",
    "pkcs11": {
        "lib": LIBRARY,
        "tokenLabel": TOKEN,
        "keyLabel": LABEL,
        "mechanism": "0x0009",
        "rsaOAEPHash": "sha1",
    },
}
FIRST_BOOT = """initialize "first" {
  request "kv" {
    operation = "update"
    path = "sys/mounts/secret"
    data = { type = "kv" }
  }
}
"""


async def test_a_hardware_module_unseals_the_server_repeatedly(
    bao_hsm: Path, tmp_path: Path
) -> None:
    variables = _environment({**_token(tmp_path), "BAO_HSM_PIN": PIN})
    config = _write_config(tmp_path, HSM)
    first = tmp_path / "first.hcl"
    first.write_text(FIRST_BOOT)
    for more in (("-config", str(first)), ()):
        log = tmp_path / f"server-{len(more)}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                bao_hsm, "server", "-config", config, *more, env=variables,
                stdout=output, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            try:
                await asyncio.wait_for(_wait(log, "core: post-unseal setup complete", process), 60)
            finally:
                process.kill()
                await process.wait()


async def _wait(log: Path, words: str, process: asyncio.subprocess.Process) -> None:
    clock = SystemClock()
    while words not in _text(log):
        assert process.returncode is None, _text(log)[-2000:]
        await clock.sleep(0.1)


def _text(log: Path) -> str:
    return log.read_text(errors="replace")


def test_a_wrong_pin_is_refused_by_the_module(bao_hsm: Path, tmp_path: Path) -> None:
    variables = _environment({**_token(tmp_path), "BAO_HSM_PIN": "0000"})
    ended = subprocess.run(
        [bao_hsm, "server", "-config", _write_config(tmp_path, HSM)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=GIVES_UP,
        check=False,
    )
    assert ended.returncode == 1
    assert "CKR_PIN_INCORRECT" in ended.stdout + ended.stderr
