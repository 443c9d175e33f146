"""The completion of command lines, also for `kubectl bao`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from baoctl.cli import main
from baoctl.verbs.completion import KubectlComplete
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import world


def complete(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return the lines that kubectl reads."""
    monkeypatch.setattr("sys.argv", ["kubectl-bao", *words])
    return KubectlComplete(main, {}, "kubectl-bao", "").complete().splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert (result.exit_code, "_BAOCTL_COMPLETE" in result.stdout) == (0, True)


def test_kubectl_completes() -> None:
    result = CliRunner().invoke(main, ["completion", "kubectl"])
    assert result.stdout.splitlines() == [
        "#!/bin/sh",
        '_KUBECTL_BAO_COMPLETE=kubectl_complete exec kubectl-bao "$@"',
        "",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("upgrade", "re"), ["retry\tRetry the failed step of the upgrade of...", ":4"]),
        (("status", "-o", "w"), ["wide", ":4"]),
        (("status", "--wa"), ["--watch\tRefresh every two seconds.", ":4"]),
        (("plan", "-f", ""), [":0"]),
        (("unknown", ""), [":4"]),
    ],
)
def test_kubectl_gets_verbs_options_and_values(
    words: tuple[str, ...], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """:4 in the last line: no files; :0: files as well."""
    assert complete(monkeypatch, *words)[-len(expected) :] == expected


@pytest.mark.parametrize(
    ("words", "fault", "expected"),
    [
        ((), None, ["first", ":4"]),
        (("-n", "empty"), None, [":4"]),
        (("--context", "there"), None, [":4"]),
        ((), Fault(FaultKind.INTERNAL), [":4"]),
    ],
)
async def test_names_of_clusters_are_completed(
    words: tuple[str, ...],
    fault: Fault | None,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults = ScriptedFaults(fault) if fault else None
    async with command_line(world(), tmp_path, faults) as baoctl:
        monkeypatch.setenv("KUBECONFIG", str(baoctl.kubeconfig))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        lines = await asyncio.to_thread(complete, monkeypatch, "doctor", *words, "f")
    assert lines == expected
