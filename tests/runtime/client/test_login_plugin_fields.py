"""runtime.client.login_plugin: the fields of a login plugin in a kubeconfig, as for kubectl."""

import base64
import json
import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.client.credentials import KubeconfigCredentials, from_kubeconfig
from runtime.errors import TransportError
from runtime.testing.clock import ManualClock

VERSION = "client.authentication.k8s.io/v1"
CREDENTIAL = json.dumps(
    {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "abc"}}
)
SERVER = "https://api.example.com:6443"
TERMINAL_TEST = "if [ -t 0 ]; then echo terminal; else echo none; fi"


async def load(
    folder: Path, cluster: dict[str, Any] | None = None, **fields: Any
) -> KubeconfigCredentials:
    """Load a kubeconfig whose login plugin writes its input to the folder."""
    script = (
        f'echo "$KUBERNETES_EXEC_INFO" > {folder}/info; {{ {TERMINAL_TEST}; }} > {folder}/stdin; '
        f"echo '{CREDENTIAL}'"
    )
    plugin = {"apiVersion": VERSION, "command": "/bin/sh", "args": ["-c", script], **fields}
    config = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"exec": plugin}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    return await from_kubeconfig(str(path), None, ManualClock())


def spec_in(folder: Path) -> Any:
    """The spec that the plugin received."""
    return json.loads((folder / "info").read_text())["spec"]


@contextmanager
def standard_input(*, terminal: bool) -> Iterator[None]:
    """Replace the standard input of this process."""
    original = os.dup(0)
    master, slave = pty.openpty() if terminal else os.pipe()
    # The reading end of a pipe is the first.
    os.dup2(slave if terminal else master, 0)
    try:
        yield
    finally:
        os.dup2(original, 0)
        for descriptor in (original, master, slave):
            os.close(descriptor)


# sentence: (interactiveMode, whether there is a terminal, whether the plugin gets it)
MODES: dict[str, tuple[str | None, bool, bool]] = {
    "never": ("Never", True, False),
    "never without a terminal": ("Never", False, False),
    "if available": ("IfAvailable", True, True),
    "if available without a terminal": ("IfAvailable", False, False),
    "always": ("Always", True, True),
    "no mode": (None, True, True),
}


@pytest.mark.parametrize(("mode", "terminal", "gets"), MODES.values(), ids=MODES.keys())
async def test_a_mode_decides_about_standard_input(
    mode: str | None, terminal: bool, gets: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standard_input(terminal=terminal), os.fdopen(0, closefd=False) as stream:
        # pytest replaces it.
        monkeypatch.setattr("sys.stdin", stream)
        await load(tmp_path, interactiveMode=mode)
    assert spec_in(tmp_path) == {"interactive": gets}
    assert (tmp_path / "stdin").read_text().strip() == ("terminal" if gets else "none")


# sentence: (interactiveMode, words of the error)
REFUSED: dict[str, tuple[object, str]] = {
    "always without a terminal": (
        "Always", "interactiveMode is Always, and standard input is not a terminal",
    ),
    "another value": ("Sometimes", "'Sometimes': must be one of Never, IfAvailable"),
    "no text": ([1], "must be one of Never, IfAvailable, Always"),
}  # fmt: skip


@pytest.mark.parametrize(("mode", "words"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_plugin_that_cannot_run_is_not_started(
    mode: object, words: str, tmp_path: Path
) -> None:
    with standard_input(terminal=False), pytest.raises(TransportError, match=words):
        await load(tmp_path, interactiveMode=mode)
    assert not (tmp_path / "info").exists()


async def test_a_plugin_gets_the_cluster_only_if_it_wants_it(tmp_path: Path) -> None:
    await load(tmp_path, interactiveMode="Never")
    assert "cluster" not in spec_in(tmp_path)
    await load(tmp_path, interactiveMode="Never", provideClusterInfo=False)
    assert "cluster" not in spec_in(tmp_path)
    await load(tmp_path, interactiveMode="Never", provideClusterInfo=True)
    assert spec_in(tmp_path)["cluster"] == {"server": SERVER}


async def test_a_plugin_gets_all_of_the_cluster(tmp_path: Path) -> None:
    config = {"audience": "x", "nested": {"list": [1]}}
    cluster = {
        "tls-server-name": "api.internal",
        "insecure-skip-tls-verify": True,
        "proxy-url": "http://proxy.example.com:3128",
        "disable-compression": True,
        "extensions": [
            {"name": "other", "extension": {"a": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": config},
        ],
    }
    await load(tmp_path, cluster, interactiveMode="Never", provideClusterInfo=True)
    del cluster["extensions"]
    assert spec_in(tmp_path)["cluster"] == {"server": SERVER, **cluster, "config": config}


async def test_the_authority_in_a_file_is_passed_as_data(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("PEM")
    cluster = {"certificate-authority": "ca.pem"}
    await load(tmp_path, cluster, interactiveMode="Never", provideClusterInfo=True)
    passed = spec_in(tmp_path)["cluster"]
    assert passed == {
        "server": SERVER,
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
    }


async def test_an_authority_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    cluster = {"certificate-authority": "missing.pem"}
    with pytest.raises(TransportError, match=r"missing\.pem: No such file"):
        await load(tmp_path, cluster, interactiveMode="Never", provideClusterInfo=True)


async def test_a_command_with_a_slash_is_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "login"
    program.write_text(f"#!/bin/sh\necho '{CREDENTIAL}'\n")
    program.chmod(0o755)
    credentials = await load(tmp_path, command="bin/login", args=None, interactiveMode="Never")
    assert await credentials.headers() == {"Authorization": "Bearer abc"}


# sentence: (command, installHint, end of the error)
NOT_STARTED: dict[str, tuple[str, object, str]] = {
    "a hint": (
        "bao-login", "Install it:\n\n  brew install bao-login\n",
        "exec: bao-login: No such file or directory; Install it: brew install bao-login",
    ),
    "no hint": (
        "bao-login", None,
        "exec: bao-login: No such file or directory; install it, or correct "
        "users[].user.exec.command",
    ),
    "a hint that is no text": ("bao-login", 7, "No such file or directory; 7"),
    "a hint with control characters": ("bao-login", "\x1b[2Jhint", "directory; ?[2Jhint"),
    "a file that is no program": ("./kubeconfig", "ask", "kubeconfig: Permission denied; ask"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "hint", "words"), NOT_STARTED.values(), ids=NOT_STARTED.keys())
async def test_the_error_of_a_missing_command_has_its_hint(
    command: str, hint: object, words: str, tmp_path: Path
) -> None:
    with pytest.raises(TransportError) as error:
        await load(tmp_path, command=command, installHint=hint)
    assert str(error.value).endswith(words)


async def test_the_hint_of_a_missing_command_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(TransportError) as error:
        await load(tmp_path, command="bao-login", installHint="x" * 10_000)
    assert len(str(error.value)) < 700
