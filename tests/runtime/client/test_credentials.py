"""runtime.client.credentials.

ServiceAccount files and kubeconfigs, and their changes.
"""

import base64
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from managers.certs.x509 import make_authority
from runtime.client.client import Client
from runtime.client.credentials import (
    KubeconfigCredentials,
    Route,
    TlsFiles,
    from_kubeconfig,
    in_cluster,
)
from runtime.errors import TransportError
from runtime.testing.clock import EPOCH, ManualClock
from tests.gen.kubeconfigs import kubeconfig as write

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


@pytest.fixture(scope="module")
def pem() -> tuple[bytes, bytes]:
    authority = make_authority("one", EPOCH)
    return authority.certificate, authority.key


@pytest.fixture
def pod(tmp_path: Path, pem: tuple[bytes, bytes]) -> Path:
    """The directory that the kubelet mounts into a pod."""
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "namespace").write_text("shop\n")
    (tmp_path / "ca.crt").write_bytes(pem[0])
    return tmp_path


async def token(credentials: Any) -> str:
    headers = await credentials.headers()
    return str(headers.get("Authorization", ""))


async def test_a_pod_finds_server_namespace_and_token(pod: Path) -> None:
    credentials = in_cluster(ManualClock(), root=pod, environ=IN_POD)
    assert credentials.server == "https://10.0.0.1:6443"
    assert credentials.namespace == "shop"
    assert await token(credentials) == "Bearer first"


def test_an_ipv6_server_is_bracketed(pod: Path) -> None:
    credentials = in_cluster(
        ManualClock(), root=pod, environ={"KUBERNETES_SERVICE_HOST": "fd00::1"}
    )
    assert credentials.server == "https://[fd00::1]:443"


def test_outside_of_a_pod_is_an_error(pod: Path) -> None:
    with pytest.raises(RuntimeError, match="not in a pod"):
        in_cluster(ManualClock(), root=pod, environ={})


async def test_an_empty_token_is_no_token(pod: Path) -> None:
    (pod / "token").write_text("\n")
    with pytest.raises(TransportError, match="empty"):
        await token(in_cluster(ManualClock(), root=pod, environ=IN_POD))


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="ca"):
        TlsFiles(ca=tmp_path / "ca").context()


def kubeconfig(folder: Path, user: Any, **cluster: Any) -> str:
    """Write a kubeconfig with one user in two contexts; return its path."""
    namespaces = {"main": "shop", "other": ""}
    return str(write(folder, "https://127.0.0.1:6443/", user, namespaces, **cluster))


def replace_cluster(path: Path, cluster: dict[str, str]) -> None:
    """Replace the fields of the cluster in a kubeconfig."""
    config = yaml.safe_load(path.read_text())
    config["clusters"][0]["cluster"] = cluster
    path.write_text(yaml.safe_dump(config))


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def load(path: str, context: str | None = None) -> KubeconfigCredentials:
    return await from_kubeconfig(path, context, ManualClock())


async def test_a_kubeconfig_with_certificates(tmp_path: Path, pem: tuple[bytes, bytes]) -> None:
    certificate, key = pem
    user = {"client-certificate-data": b64(certificate), "client-key-data": b64(key)}
    path = kubeconfig(tmp_path, user, **{"certificate-authority-data": b64(certificate)})
    credentials = await load(path)
    assert credentials.server == "https://127.0.0.1:6443"
    assert credentials.namespace == "shop"
    assert await token(credentials) == ""
    context = credentials.ssl_context()
    assert credentials.ssl_context() is context
    assert len(context.get_ca_certs()) == 1


async def test_a_request_with_an_invalid_ca_names_the_ca(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {}, **{"certificate-authority-data": b64(b"no PEM")})
    client = Client(await load(path), user_agent="test", clock=ManualClock())
    reason = "GET /version: the CA or client certificate cannot be read: "
    with pytest.raises(TransportError, match=reason):
        await client.get_raw("/version")
    await client.close()


async def test_another_context_may_be_chosen(tmp_path: Path) -> None:
    credentials = await load(kubeconfig(tmp_path, {"token": "abc"}), "other")
    assert credentials.namespace == "default"
    assert await token(credentials) == "Bearer abc"


async def test_verification_is_only_off_when_the_file_says_so(tmp_path: Path) -> None:
    careful = (await load(kubeconfig(tmp_path, {}))).ssl_context()
    assert careful.check_hostname
    path = kubeconfig(tmp_path, {}, **{"insecure-skip-tls-verify": True})
    assert not (await load(path)).ssl_context().check_hostname


def plugin(folder: Path, expires: str | None, fails_at_run: int = 0) -> dict[str, Any]:
    """A login plugin that returns a new token at each run, and counts its runs in a file."""
    status = '"token": "t\'$(wc -c < runs)\'"' + (
        f', "expirationTimestamp": "{expires}"' if expires else ""
    )
    version = "client.authentication.k8s.io/v1"
    script = folder / "login"
    script.write_text(
        f"#!/bin/sh\ncd {folder}\nprintf x >> runs\n"
        f"test $(wc -c < runs) = {fails_at_run} && exit 1\n"
        f'echo \'{{"apiVersion": "{version}", "kind": "ExecCredential",'
        f' "status": {{{status}}}}}\'\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": version, "command": str(script)}}


async def test_a_login_plugin_runs_again_only_after_a_401(tmp_path: Path) -> None:
    clock = ManualClock()
    user = plugin(tmp_path, expires="2099-01-01T00:00:00Z")
    credentials = await from_kubeconfig(kubeconfig(tmp_path, user), None, clock)
    assert await token(credentials) == "Bearer t1"
    await clock.advance(300.0)
    assert await token(credentials) == "Bearer t1"
    credentials.invalidate(before=clock.monotonic())
    assert await token(credentials) == "Bearer t2"


async def test_a_login_plugin_without_an_expiry_runs_once_a_minute(tmp_path: Path) -> None:
    clock = ManualClock()
    user = plugin(tmp_path, expires=None)
    credentials = await from_kubeconfig(kubeconfig(tmp_path, user), None, clock)
    for seconds, expected in ((0.0, "Bearer t1"), (59.0, "Bearer t1"), (1.0, "Bearer t2")):
        await clock.advance(seconds)
        assert await token(credentials) == expected


def failing_plugin(script: str) -> dict[str, Any]:
    """A login plugin that runs a shell script."""
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": "/bin/sh", "args": ["-c", script]}}


def plugin_that_prints(status: str) -> dict[str, Any]:
    """A login plugin that prints a response with this status."""
    version = "client.authentication.k8s.io/v1"
    return failing_plugin(
        f'echo \'{{"apiVersion": "{version}", "kind": "ExecCredential", "status": {status}}}\''
    )


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        (failing_plugin("echo no session >&2; exit 3"), "exec: /bin/sh returned 3$"),
        (failing_plugin("echo no JSON"), "exec: failed to decode process output"),
        (failing_plugin("echo '[]'"), "exec: malformed response. missing key 'apiVersion'"),
        (plugin_that_prints("{}"), "exec: missing token or clientCertificateData"),
        (plugin_that_prints('{"clientCertificateData": "x"}'), "exec: missing clientKeyData"),
    ],
    ids=["fails", "prints no JSON", "prints a list", "prints no credential", "prints no key"],
)
async def test_the_error_of_a_login_plugin_is_raised_and_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, user: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TransportError, match=f"kubeconfig: {reason}"):
        await load(kubeconfig(tmp_path, user))
    assert caplog.records == []


async def test_the_error_of_a_later_run_of_a_login_plugin_is_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    user = plugin(tmp_path, expires=None, fails_at_run=2)
    credentials = await from_kubeconfig(kubeconfig(tmp_path, user), None, clock)
    await clock.advance(60.0)
    with pytest.raises(TransportError, match=r"exec: .*login returned 1"):
        await credentials.headers()
    assert caplog.records == []
    assert await token(credentials) == "Bearer t3"


@pytest.mark.parametrize(
    ("user", "context", "reason"),
    [
        ({}, "absent", "Expected object with name absent"),
        (
            {"exec": {"apiVersion": "v1", "command": "/nonexistent/login"}},
            None,
            "/nonexistent/login: No such file or directory",
        ),
        (
            {"exec": {"apiVersion": "v1", "command": "/bin/false"}},
            None,
            "exec: /bin/false returned 1",
        ),
        ({"tokenFile": "/nonexistent/token"}, None, "/nonexistent/token"),
        (5, None, "a field is missing or has the wrong type"),
    ],
)
async def test_a_kubeconfig_that_gives_no_credential_is_a_transport_error(
    tmp_path: Path, user: Any, context: str | None, reason: str
) -> None:
    with pytest.raises(TransportError, match=f"kubeconfig: .*{reason}") as refused:
        await load(kubeconfig(tmp_path, user), context)
    assert "Exception" not in str(refused.value)


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ({}, "a field is missing or has the wrong type"),
        ({"tls-server-name": "api.example.com"}, "server '': must be https://HOST:PORT"),
    ],
)
async def test_a_kubeconfig_without_a_server_is_a_transport_error(
    tmp_path: Path, cluster: dict[str, str], reason: str
) -> None:
    path = kubeconfig(tmp_path, {})
    replace_cluster(Path(path), cluster)
    with pytest.raises(TransportError, match=re.escape(reason)):
        await load(path)


async def test_the_route_to_the_server_is_that_of_the_kubeconfig(tmp_path: Path) -> None:
    assert (await load(kubeconfig(tmp_path, {}))).route == Route()
    fields = {"proxy-url": "http://u:p@proxy:3128", "tls-server-name": "api.example.com"}
    credentials = await load(kubeconfig(tmp_path, {}, **fields))
    assert credentials.route == Route("http://u:p@proxy:3128", "api.example.com")
    assert "u:p" not in repr(credentials.route)


@pytest.mark.parametrize(
    ("field", "value", "reported"),
    [
        ("proxy-url", "socks5://u:hush@proxy:1080", "scheme 'socks5': must be http://HOST:PORT"),
        ("proxy-url", "https://u:hush@proxy", "scheme 'https': must be http://HOST:PORT"),
        ("proxy-url", "proxy.example.com:3128", "must be http://HOST:PORT"),
        ("proxy-url", "http://", "must be http://HOST:PORT"),
        ("proxy-url", "http://proxy:hush", "must be http://HOST:PORT"),
        ("proxy-url", ["http://proxy"], "must be http://HOST:PORT"),
        ("tls-server-name", "a name", "tls-server-name 'a name': must be a host name"),
        ("tls-server-name", 64 * "a", "must be a host name"),
        ("tls-server-name", {"a": "b"}, "must be a host name"),
    ],
)
async def test_an_unsupported_route_is_rejected(
    tmp_path: Path, field: str, value: object, reported: str
) -> None:
    with pytest.raises(TransportError, match=re.escape(reported)) as refused:
        await load(kubeconfig(tmp_path, {}, **{field: value}))
    assert "hush" not in str(refused.value)


async def test_a_missing_kubeconfig_is_a_transport_error(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="kubeconfig"):
        await load(str(tmp_path / "absent"))


async def test_without_the_library_the_error_has_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None makes Python raise ModuleNotFoundError.
    monkeypatch.setitem(sys.modules, "kubernetes_asyncio.config", None)
    with pytest.raises(TransportError, match="run this in a pod, or install kubernetes-asyncio"):
        await from_kubeconfig(str(tmp_path / "config"), None, ManualClock())
