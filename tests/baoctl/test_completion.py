"""The completion of command lines, also for `kubectl bao`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from baoctl.cli import main
from baoctl.commands.cluster import completion
from baoctl.verbs.completion import KubectlComplete
from runtime.client.credentials import PLUGIN_SECONDS
from runtime.clock import SystemClock
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.testing.api_server.server import FakeApiServer
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import server_of, world
from tests.baoctl.commands.cluster.recorded_cluster import backup, healthy, job_pod, with_spec
from tests.baoctl.datacenter_bench import live_datacenter, live_workload
from tests.baoctl.datacenter_bench import server_of as server_of_datacenters
from tests.gen.kubeconfigs import kubeconfig
from tests.managers.datacenter.bodies import desired_service, service

SERVICE = desired_service(service("dns"))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer limit, for a busy machine."""
    monkeypatch.setattr(completion, "SECONDS", 60.0)


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


def fenced_world() -> FakeApiServer:
    """A cluster with a fenced server whose pod is gone, a pod of a Job, and backups."""
    view = with_spec(healthy(), fencedPods=["first-3"])
    backups = [
        backup("first-one"),
        backup("first-two", phase="Running"),
        backup("second-one", "second"),
    ]
    return server_of([view.cluster, *view.pods, job_pod(), *backups])


def datacenter_world() -> FakeApiServer:
    """A datacenter with a service."""
    return server_of_datacenters([live_datacenter(), live_workload(SERVICE)])


# sentence: (the API server, words, expected names)
OBJECTS: dict[str, tuple[Callable[[], FakeApiServer], tuple[str, ...], list[str]]] = {
    "servers": (fenced_world, ("fence", ""), ["first-0", "first-1", "first-2"]),
    "some servers": (fenced_world, ("fence", "first-1"), ["first-1"]),
    "fenced servers": (fenced_world, ("unfence", ""), ["first-3"]),
    "backups of a cluster": (fenced_world, ("restore", "first", "--from", ""), ["first-one"]),
    "all backups": (fenced_world, ("restore", "--from", ""), ["first-one", "second-one"]),
    "clusters of an option": (fenced_world, ("upgrade", "plan", "--cluster", ""), ["first"]),
    "no datacenters": (fenced_world, ("datacenter", "status", ""), []),
    "datacenters": (datacenter_world, ("datacenter", "status", ""), ["fra1"]),
    "IDs": (datacenter_world, ("datacenter", "get", "f"), ["fra1"]),
    "services": (
        datacenter_world,
        ("datacenter", "redeploy", "fra1/"),
        ["fra1/dns"],
    ),
}


@pytest.mark.parametrize(("world_of", "words", "names"), OBJECTS.values(), ids=OBJECTS.keys())
async def test_names_of_objects_are_completed(
    world_of: Callable[[], FakeApiServer],
    words: tuple[str, ...],
    names: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with command_line(world_of(), tmp_path) as baoctl:
        monkeypatch.setenv("KUBECONFIG", str(baoctl.kubeconfig))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        lines = await asyncio.to_thread(complete, monkeypatch, *words)
    assert lines == [*names, ":4"]


def test_a_login_plugin_that_waits_does_not_stop_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is for all of the completion, and the plugin ends with it."""
    plugin = {"apiVersion": "v1", "command": "/bin/sh", "args": ["-c", "exec sleep 600"]}
    file = kubeconfig(tmp_path, "https://api.example.com", {"exec": plugin})
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(completion, "SECONDS", 0.05)
    clock = SystemClock()
    began = clock.monotonic()
    assert complete(monkeypatch, "doctor", "") == [":4"]
    assert clock.monotonic() - began < PLUGIN_SECONDS / 2
