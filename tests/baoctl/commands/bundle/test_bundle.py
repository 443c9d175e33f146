"""`baoctl bundle` with an API server in memory: what is read, written and refused."""

from __future__ import annotations

import copy
import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

from baoctl.commands.bundle.collect import log_requests
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS
from contracts.naming import labels
from runtime.builtin_kinds import CONFIG_MAP, SECRET
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.server import FakeApiServer
from runtime.types import Object
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import keep, world
from tests.baoctl.commands.cluster.recorded_cluster import healthy

LABELS = {"openbao.org/cluster": "first"}
TOKEN = "hvs." + 24 * "A"


def surroundings(config: str = "ui = true\n") -> FakeApiServer:
    """The cluster with a ConfigMap and a Secret."""
    server = world()
    server.serve(Kind(CONFIG_MAP))
    metadata = {"name": "first-config", "namespace": "default", "labels": LABELS}
    server.put(
        CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
         "data": {"config.hcl": config}},
    )  # fmt: skip
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata, "name": "first-root-token"},
        "data": {"token": "aHZzLnRoZS1zZWNyZXQ="},
    }
    server.put(SECRET, secret)
    return server


def files_of(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        return {
            entry.name: file.read().decode() for entry in tar if (file := tar.extractfile(entry))
        }


def manifest_of(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files_of(path)["first/MANIFEST.json"])
    return document


async def test_an_archive_contains_the_files_for_support(tmp_path: Path) -> None:
    server, target = surroundings(), tmp_path / "x.tar.gz"
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("bundle", "first", "-f", str(target))
        again = await baoctl("bundle", "first", "-f", str(target))
        forced = await baoctl("bundle", "first", "-f", str(target), "--force")
    assert result.exit_code == forced.exit_code == 0, result.output
    assert (again.exit_code, "--force" in again.stderr) == (4, True)
    assert str(target) in result.stdout
    files = files_of(target)
    assert {"first/cluster.json", "first/doctor.txt", "first/tree.txt", "first/versions.json",
            "first/objects/pod/first-0.json", "first/configmaps/first-config/config.hcl",
            "first/events.json", "first/operator.json"} <= set(files)  # fmt: skip
    assert "The operator is down" in files["first/doctor.txt"]
    assert "first-root-token" in files["first/secrets.json"]
    assert "aHZzLnRoZS1zZWNyZXQ=" not in "".join(files.values())
    assert {call.method for call in server.requests} == {"GET"}


async def test_no_object_is_read_twice(tmp_path: Path) -> None:
    server = surroundings()
    async with command_line(server, tmp_path) as baoctl:
        done = await baoctl("bundle", "first", "-f", str(tmp_path / "x.tar.gz"))
    assert done.exit_code == 0, done.output
    reads = Counter(
        # The log of a server is requested twice: its last lines, and the last two minutes.
        call.target if call.path.endswith("/log") else call.path
        for call in server.requests
    )
    assert {path: count for path, count in reads.items() if count > 1} == {}
    assert any(path.endswith("/secrets") for path in reads)


async def test_an_archive_contains_the_diagnosis_of_doctor(tmp_path: Path) -> None:
    """doctor reads the objects, and the bundle uses those that it has read."""
    server, target = surroundings(), tmp_path / "x.tar.gz"
    pod = copy.deepcopy(healthy().pods[0])
    pod["metadata"]["name"] = "backup-of-first"
    pod["metadata"]["labels"] |= {labels.COMPONENT: "backup"}
    waiting = {"reason": "CrashLoopBackOff", "message": "of no server"}
    pod["status"] = {
        "phase": "Running",
        "containerStatuses": [
            {"name": "openbao", "restartCount": 9, "state": {"waiting": waiting}}
        ],
    }
    keep(server, pod)
    faults = ScriptedFaults(*(Fault(FaultKind.INTERNAL) for _ in range(9)), where="/statefulsets")
    async with command_line(server, tmp_path, faults) as baoctl:
        doctor = await baoctl("doctor", "first", "-o", "json")
        await baoctl("bundle", "first", "-f", str(target))
    (printed,) = json.loads(doctor.stdout)
    kept = json.loads(files_of(target)["first/doctor.json"])
    assert kept.keys() == printed.keys()
    assert [finding["cause"] for finding in kept["findings"]] == [
        finding["cause"] for finding in printed["findings"]
    ]
    assert sorted(kept["denied"]) == sorted(printed["denied"])
    assert "statefulsets" in kept["denied"]


async def test_a_token_in_a_config_map_is_refused_and_redacted(tmp_path: Path) -> None:
    target = tmp_path / "x.tar.gz"
    async with command_line(surroundings(f'a = 1\nb = "{TOKEN}"\n'), tmp_path) as baoctl:
        refused = await baoctl("bundle", "first", "-f", str(target))
        assert not target.exists()
        written = await baoctl("bundle", "first", "-f", str(target), "--redact")
    assert refused.exit_code == 4
    assert "configmaps/first-config/config.hcl line 2 (OpenBao token)" in refused.stderr
    assert "--redact" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert TOKEN not in refused.output
    assert written.exit_code == 0
    assert TOKEN not in "".join(files_of(target).values())
    assert manifest_of(target)["redacted"] == [
        {"file": "configmaps/first-config/config.hcl", "line": 2, "kind": "OpenBao token"}
    ]


async def test_an_archive_contains_only_runs_of_its_cluster(tmp_path: Path) -> None:
    server, target = surroundings(), tmp_path / "x.tar.gz"
    for name, cluster in (("mine", "first"), ("theirs", "other")):
        run = {"apiVersion": API_VERSION, "kind": BACKUP_KIND, "spec": {"cluster": cluster},
               "metadata": {"name": name, "namespace": "default"}}  # fmt: skip
        server.put(BACKUPS, run)
    async with command_line(server, tmp_path) as baoctl:
        await baoctl("bundle", "first", "-f", str(target))
    assert [name for name in files_of(target) if "openbaobackup/" in name] == [
        "first/objects/openbaobackup/mine.json"
    ]


async def test_an_unreadable_object_is_reported_with_the_reason(tmp_path: Path) -> None:
    faults = ScriptedFaults(*(Fault(FaultKind.INTERNAL) for _ in range(2)), where="/secrets")
    async with command_line(surroundings(), tmp_path, faults) as baoctl:
        result = await baoctl("bundle", "first", "-f", str(tmp_path / "x.tar.gz"))
    assert result.exit_code == 0
    unread = {item["what"]: item["why"] for item in manifest_of(tmp_path / "x.tar.gz")["unread"]}
    assert "500" in unread["secrets"] or "internal" in unread["secrets"].lower()
    assert "Not in the archive: secrets: " in result.stdout


async def test_a_missing_cluster_or_folder_is_an_error(tmp_path: Path) -> None:
    async with command_line(surroundings(), tmp_path) as baoctl:
        missing = await baoctl("bundle", "other", "-f", str(tmp_path / "x.tar.gz"))
        nowhere = await baoctl("bundle", "first", "-f", str(tmp_path / "none" / "x.tar.gz"))
    assert (missing.exit_code, nowhere.exit_code) == (5, 2)
    assert "not a directory" in nowhere.stderr
    assert not (tmp_path / "x.tar.gz").exists()


def test_an_archive_contains_the_log_of_the_previous_container() -> None:
    pod = healthy().pods[0]
    pod["status"]["containerStatuses"][0] |= {"name": "openbao", "restartCount": 2}
    files = [(log_request.file, log_request.previous) for log_request in log_requests([pod], "x-")]
    assert ("x-first-0.openbao", False) in files
    assert ("x-first-0.openbao.previous", True) in files
