"""The completion of the options that select a cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from baoctl.cli import main
from baoctl.commands.cluster import completion
from baoctl.verbs.completion import KubectlComplete
from runtime.builtin_kinds import NAMESPACE, SERVICE_ACCOUNT
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.server import FakeApiServer
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import server_of


def world() -> FakeApiServer:
    """Two namespaces, and a ServiceAccount in each."""
    server = server_of([])
    server.serve(Kind(NAMESPACE))
    server.serve(Kind(SERVICE_ACCOUNT))
    for namespace, account in (("default", "app"), ("elsewhere", "reader")):
        server.put(NAMESPACE, {"metadata": {"name": namespace}})
        server.put(SERVICE_ACCOUNT, {"metadata": {"name": account, "namespace": namespace}})
    return server


def complete(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return the lines that kubectl reads."""
    monkeypatch.setattr("sys.argv", ["kubectl-bao", *words])
    return KubectlComplete(main, {}, "kubectl-bao", "").complete().splitlines()


# sentence: (words, expected values)
VALUES: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "namespaces": (("status", "-n", ""), ["default", "elsewhere"]),
    "some namespaces": (("restore", "--namespace", "e"), ["elsewhere"]),
    "the namespace of the operator": (
        ("doctor", "--operator-namespace", ""), ["default", "elsewhere"],
    ),
    "ServiceAccounts": (("login", "--service-account", ""), ["app"]),
    "ServiceAccounts of a namespace": (
        ("bench", "-n", "elsewhere", "first", "--service-account", ""), ["reader"],
    ),
    "ServiceAccounts of a context": (
        ("login", "--context", "there", "--service-account", ""), ["reader"],
    ),
    "contexts": (("status", "--context", ""), ["here", "there"]),
    "some contexts": (("datacenter", "status", "--context", "t"), ["there"]),
}  # fmt: skip


@pytest.mark.parametrize(("words", "values"), VALUES.values(), ids=VALUES.keys())
async def test_a_value_is_completed(
    words: tuple[str, ...], values: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        monkeypatch.setenv("KUBECONFIG", str(baoctl.kubeconfig))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        # Long enough for a machine that runs other tests.
        monkeypatch.setattr(completion, "SECONDS", 60.0)
        lines = await asyncio.to_thread(complete, monkeypatch, *words)
    assert lines == [*values, ":4"]


def kubeconfig(path: Path, *contexts: str) -> None:
    path.write_text(json.dumps({"contexts": [{"name": name} for name in contexts]}))


def test_contexts_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request and no login; a file that cannot be read is ignored."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    kubeconfig(tmp_path / "a", "b", "a")
    kubeconfig(tmp_path / "b", "c", "a")
    (tmp_path / "c").write_text("]")
    (tmp_path / "d").write_text("contexts: {x: 1}")
    paths = ":".join(str(tmp_path / name) for name in ("a", "b", "c", "d", "missing"))
    monkeypatch.setenv("KUBECONFIG", paths)
    assert complete(monkeypatch, "status", "--context", "") == ["a", "b", "c", ":4"]
    kubeconfig(tmp_path / "other", "z")
    words = ("status", "--kubeconfig", str(tmp_path / "other"), "--context", "")
    assert complete(monkeypatch, *words) == ["z", ":4"]


def test_a_kubeconfig_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert complete(monkeypatch, "status", "--kubeconfig", "") == [":0"]
