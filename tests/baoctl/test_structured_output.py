"""The output of `backup` and `restore` for programs, and YAML of verbs that print JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from baoctl.cli import main
from contracts.api.group import API_VERSION, BACKUP_KIND, RESTORES
from runtime.testing.api_server.server import FakeApiServer
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import server_of
from tests.baoctl.commands.cluster.recorded_cluster import healthy, with_spec
from tests.baoctl.commands.upgrade.dumps import NEW, dump
from tests.baoctl.datacenter_bench import live_datacenter
from tests.baoctl.datacenter_bench import server_of as server_of_datacenters


def world() -> FakeApiServer:
    """A cluster with a Completed backup."""
    view = with_spec(healthy(), backup={"schedule": "0 3 * * *"})
    backup = {
        "apiVersion": API_VERSION,
        "kind": BACKUP_KIND,
        "metadata": {"name": "first-one", "namespace": "default"},
        "spec": {"cluster": "first"},
        "status": {"phase": "Completed", "snapshot": {"version": "2.7.2", "size": 5}},
    }
    return server_of([view.cluster, *view.pods, backup])


@pytest.mark.parametrize("output", ["json", "yaml"])
async def test_a_backup_prints_its_object(output: str, tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        result = await baoctl("backup", "first", "--no-wait", "-o", output)
    assert result.exit_code == 0, result.stderr
    live = json.loads(result.stdout) if output == "json" else yaml.safe_load(result.stdout)
    name = live["metadata"]["name"]
    assert (live["kind"], live["spec"]) == (BACKUP_KIND, {"cluster": "first"})
    assert "managedFields" not in live["metadata"]
    assert result.stderr == f"OpenBaoBackup default/{name} created\n"


async def test_the_progress_of_a_backup_is_on_standard_error(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        result = await baoctl("backup", "first", "--timeout", "1s", "-o", "json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "Pending" in result.stderr.splitlines()[1]


async def test_a_restore_prints_its_object(tmp_path: Path) -> None:
    server = world()
    words = ("restore", "first", "--from", "first-one", "--no-wait", "-o", "json")
    async with command_line(server, tmp_path) as baoctl:
        trial = await baoctl(*words, "--dry-run")
        result = await baoctl(*words, typed="first\n")
    assert (trial.exit_code, result.exit_code) == (0, 0), result.stderr
    (live,) = server.objects(RESTORES)
    assert json.loads(result.stdout)["metadata"]["name"] == live["metadata"]["name"]
    assert json.loads(trial.stdout)["spec"] == live["spec"]
    assert "Everything written since then is lost." in result.stderr
    assert "Type first to continue" in result.stderr


def test_an_upgrade_plan_is_the_same_in_yaml() -> None:
    words = ["upgrade", "plan", "-f", "-", "--to", NEW, "-o"]
    as_json, as_yaml = (
        CliRunner().invoke(main, [*words, f], input=dump()) for f in ("json", "yaml")
    )
    assert as_yaml.exit_code == as_json.exit_code
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)


@pytest.mark.parametrize("verb", ["status", "get"])
async def test_a_datacenter_is_the_same_in_yaml(verb: str, tmp_path: Path) -> None:
    server = server_of_datacenters([live_datacenter()])
    async with command_line(server, tmp_path, verb=("datacenter", verb)) as baoctl:
        as_json, as_yaml = await baoctl("fra1", "-o", "json"), await baoctl("fra1", "-o", "yaml")
    assert as_yaml.exit_code == as_json.exit_code
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)


def test_an_unknown_format_is_refused() -> None:
    result = CliRunner().invoke(main, ["status", "-o", "xml"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "'xml' is not one of 'text', 'wide', 'json', 'yaml'" in result.stderr
