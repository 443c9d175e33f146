"""Every environment variable: an invalid value is reported in one line that names the variable.

Nothing is started, and the exit status is 2, as for an invalid option.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from baoctl import api_server_settings, installation_settings, settings, variables
from baoctl.cli import main
from runtime.process import logs
from tests.gen.kubeconfigs import kubeconfig
from tests.house.checkout import ROOT

# name: (invalid values, part of the rule)
BAD: Mapping[str, tuple[tuple[str, ...], str]] = {
    "ADMISSION_RECHECK_SECONDS": (("x", "0", "-1", "nan", "inf", "1e300"), "number of seconds, 1"),
    "DATACENTERS": (("maybe", "1", "TRUE"), "must be true or false"),
    "INSECURE_REGISTRIES": (("a b", "r.test:5000,http://x", "-"), "must be HOST or HOST:PORT"),
    "KUBECONFIG": (("/nonexistent/config", "/dev/null", "/"), "must name an existing file"),
    "KUBERNETES_SERVICE_HOST": (("a b", "10.96.0.1:443", "-"), "an IP address or a host name"),
    "KUBERNETES_SERVICE_PORT": (("https", "0", "65536", "-1"), "must be a port, 1 to 65535"),
    "LISTEN_ADDRESS": (("banana", "127.0.0.1:80", "fe80::1%eth0"), "must be an IP address"),
    "LOG_LEVEL": (("loud", "INFO", "x\ny"), "one of debug, info, warning, error, critical"),
    "METRICS_PORT": (("http", "65536", "-1", "8080.0", "٣"), "must be a port, 0 to 65535"),
    "OPENBAO_JWT_AUDIENCE": (("a b", "a\nb", "é"), "printable ASCII characters"),
    "OPENBAO_JWT_SHARED_AUDIENCE": (("maybe", "1", "TRUE"), "must be true or false"),
    "OPERATOR_IMAGE": (("A B", "x:", "r.test/Upper"), "must be the reference of an image"),
    "OPERATOR_PLATFORM": (("k3s",), "must be one of auto, kubernetes, openshift"),
    "OPERATOR_SERVICE_ACCOUNT_NAME": (("A B", "a/b", "a" * 254), "must be the name of an object"),
    "POD_NAME": (("A B", "a/b"), "must be the name of an object"),
    "POD_NAMESPACE": (("A", "a.b", "a" * 64), "must be the name of a namespace"),
    "RELATED_IMAGE_OPENBAO": (
        ("A B", "openbao/openbao:2.7.2", f"x@sha256:{'0' * 64}"),
        "must be REGISTRY/REPOSITORY without a tag",
    ),
    "SHARD": (("1", "2/2", "-1/2", "a/b", "0/17", "0/0"), "must be INDEX/COUNT"),
    "SIGSTORE_TRUSTED_ROOT": (
        ("/nonexistent", "/", "/dev/null"),
        "the path of a trusted_root.json",
    ),
    "TENANCY_MODE": (("shared",), "must be one of single-tenant, multi-tenant"),
    "TENANT_READS": (("list",), "must be one of poll, watch"),
    "UPGRADE_POD_DEADLINE_SECONDS": (("x", "0", "nan", "inf", "1e300"), "number of seconds, 1 to"),
    "WATCH_NAMESPACE": (("UPPER", "a,../b", "a" * 64), "must be the name of a namespace"),
}
PROVISIONER: Mapping[str, tuple[tuple[str, ...], str]] = {
    "PROVISIONER_DELEGATE_SERVICE_ACCOUNT_NAME": (("A B",), "must be the name of an object"),
    "TENANT_RECHECK_SECONDS": (("x", "0", "-1", "nan", "inf"), "must be a number of seconds, 1 to"),
}
# The provisioner has a fixed mode and no shards.
CHOSEN = ("TENANCY_MODE", "WATCH_NAMESPACE", "DATACENTERS", "SHARD")
ROWS = [
    (verb, name, value, words)
    for verb, table in (
        ("run", BAD),
        ("provision", {**{k: v for k, v in BAD.items() if k not in CHOSEN}, **PROVISIONER}),
    )
    for name, (values, words) in table.items()
    for value in values
]


def call(*arguments: str, **env: str) -> Result:
    clean: dict[str, str | None] = {name: None for name in (*BAD, *PROVISIONER)}
    # No test may reach a real API server, even if it starts a process by mistake.
    usual = {"KUBECONFIG": "/nonexistent/usual"}
    return CliRunner().invoke(main, list(arguments), env={**clean, **usual, **env})


@pytest.mark.parametrize(("verb", "name", "value", "words"), ROWS)
def test_an_invalid_value_is_reported_in_one_line(
    verb: str, name: str, value: str, words: str
) -> None:
    result = call(verb, **{name: value})
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {name} ")
    assert words in line
    assert name != "METRICS_PORT" or repr(value) in line


def test_the_table_has_every_setting() -> None:
    source = "".join(
        Path(str(module.__file__)).read_text(encoding="utf-8")
        for module in (api_server_settings, installation_settings, settings, variables)
    )
    named = set(re.findall(r'"([A-Z][A-Z0-9]*_[A-Z0-9_]+|DATACENTERS|KUBECONFIG|SHARD)"', source))
    assert named == {*BAD, *PROVISIONER}


def test_the_page_has_every_setting() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert [name for name in (*BAD, *PROVISIONER) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", [*BAD, *PROVISIONER])
def test_an_empty_value_is_ignored(name: str) -> None:
    result = call("provision", **{"KUBECONFIG": "/nonexistent/usual", name: ""})
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: KUBECONFIG ")


VERBS = (
    ("render", "-f", "-"),
    ("upgrade", "plan", "--to", "2.7.2", "--cluster", "a/b"),
    ("datacenter", "status", "fra1"),
    ("datacenter", "redeploy", "fra1/vault"),
    ("status",),
)


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_a_verb_ignores_the_settings_of_a_process(arguments: tuple[str, ...]) -> None:
    """A shell may have them for other programs."""
    usual = call(*arguments)
    other = call(*arguments, LOG_LEVEL="TRACE", METRICS_PORT="http", SHARD="x")
    assert (other.exit_code, other.output) == (usual.exit_code, usual.output)


@pytest.mark.parametrize("arguments", VERBS[:2], ids=" ".join)
def test_a_verb_that_renders_validates_the_settings_of_objects(arguments: tuple[str, ...]) -> None:
    result = call(*arguments, OPERATOR_PLATFORM="k3s")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: OPERATOR_PLATFORM 'k3s': must be one of auto")


@pytest.mark.parametrize("arguments", VERBS[1:], ids=" ".join)
def test_a_verb_with_requests_validates_the_address_of_the_api_server(
    arguments: tuple[str, ...],
) -> None:
    result = call(*arguments, KUBERNETES_SERVICE_PORT="https")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: KUBERNETES_SERVICE_PORT 'https': must be a port")


# sentence: content of a kubeconfig
CONFIGS: dict[str, bytes] = {
    "nothing": b"",
    "bytes": b"\xff\xfe\x00",
    "a list": b"[1, 2]",
    "no YAML": b"a: [",
    "no context": b"apiVersion: v1\nkind: Config\n",
    "a context without content": b"current-context: a\ncontexts: 5\nclusters: []\nusers: []\n",
    "a cluster that is a text": (
        b"current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        b"clusters: [{name: a, cluster: x}]\nusers: [{name: a, user: {}}]\n"
    ),
    "an invalid server URL": (
        b"current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        b"clusters: [{name: a, cluster: {server: banana}}]\nusers: [{name: a, user: {}}]\n"
    ),
    "brackets": b"[" * 3000,
}


@pytest.mark.parametrize("verb", ["run", "provision"])
@pytest.mark.parametrize("content", CONFIGS.values(), ids=CONFIGS.keys())
def test_an_invalid_kubeconfig_is_reported_in_one_line(
    verb: str, content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_bytes(content)
    result = call(verb, KUBECONFIG=str(file))
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: KUBECONFIG {str(file)!r}: must be a kubeconfig")


def test_missing_service_account_files_are_reported_in_one_line() -> None:
    result = call("run", KUBERNETES_SERVICE_HOST="10.96.0.1")
    (line,) = result.stderr.splitlines()
    assert result.exit_code == 2
    assert line.startswith("Error: KUBERNETES_SERVICE_HOST '10.96.0.1': is set, so this is a pod")


@pytest.mark.parametrize("server", ["banana", "https://a b", "https://[::1", "https://a:b"])
def test_an_invalid_server_url_is_reported_in_one_line(server: str, tmp_path: Path) -> None:
    result = call("run", KUBECONFIG=str(kubeconfig(tmp_path, server)))
    (line,) = result.stderr.splitlines()
    assert result.exit_code == 2
    assert f"kubeconfig: server {server!r}: must be https://HOST:PORT" in line


@pytest.mark.parametrize("authority", ["", "AAAA"], ids=["none", "bytes"])
def test_an_unreachable_api_server_has_a_separate_exit_status(
    authority: str, tmp_path: Path
) -> None:
    known: dict[str, Any] = {"certificate-authority-data": authority} if authority else {}
    file = kubeconfig(tmp_path, "https://127.0.0.1:1", **known)
    env = {"PATH": os.environ["PATH"], "KUBECONFIG": str(file)}
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", "run"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert json.loads(line)["msg"] == "stopped: the API server did not answer at startup"


def test_the_log_levels_are_those_of_the_library() -> None:
    assert variables.LEVELS == logs.LEVELS


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff", b"[" * 9, b'{"tlogs": 5}', b'{"tlogs": [5]}']
)
def test_an_invalid_trust_root_is_reported_in_one_line(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "root.json"
    file.write_bytes(content)
    result = call("run", SIGSTORE_TRUSTED_ROOT=str(file))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: SIGSTORE_TRUSTED_ROOT {str(file)!r}: must be the path of a")
