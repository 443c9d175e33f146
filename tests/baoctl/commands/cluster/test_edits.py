"""The verbs that change a cluster: their writes, prompts and errors."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from baoctl.cli import main
from baoctl.commands.api_client import Session
from baoctl.commands.cluster.edits import EDITS, as_kubectl, edit_of, operations
from baoctl.commands.cluster.patch import EditRequest, apply_edit
from baoctl.exit_codes import VerbError
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS, CLUSTERS
from runtime.clock import SystemClock
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.types import Object, ObjectKey
from tests import gen
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import server_of, world
from tests.baoctl.commands.cluster.recorded_cluster import healthy, with_spec, with_status

NOW = "2026-11-26T12:00:00Z"
KEY = ObjectKey("default", "first")
UPGRADING = with_status(healthy(), upgrade={"phase": "Rolling"}).cluster


def spec_after(live: Object, verb: str, argument: str) -> dict[str, Any]:
    """The spec after the patch, by the rules of RFC 6902 for `add`."""
    ops = operations(live, edit_of(verb, live, argument))
    spec: dict[str, Any] = json.loads(json.dumps(live["spec"]))
    for op in ops:
        if op["op"] == "test":
            continue
        *above, last = op["path"].split("/")[2:]
        node = spec
        for name in above:
            node = node[name]
        node[last] = op["value"]
    return spec


# sentence: (cluster, verb, argument, fields of the spec afterwards)
WRITES: dict[str, tuple[Object, str, str, dict[str, Any]]] = {
    "a pause": (healthy().cluster, "pause", "", {"paused": True}),
    "its end": (with_spec(healthy(), paused=True).cluster, "resume", "", {"paused": False}),
    "a restart": (healthy().cluster, "restart", NOW, {"runtime": {"restartAt": NOW}}),
    "a second restart": (
        with_spec(healthy(), runtime={"restartAt": "x"}).cluster, "restart", NOW,
        {"runtime": {"restartAt": NOW}},
    ),
    "a fence": (healthy().cluster, "fence", "first-2", {"fencedPods": ["first-2"]}),
    "another fence": (
        with_spec(healthy(), fencedPods=["first-1"]).cluster, "fence", "first-2",
        {"fencedPods": ["first-1", "first-2"]},
    ),
    "the end of a fence": (
        with_spec(healthy(), fencedPods=["first-1", "first-2"]).cluster, "unfence", "first-1",
        {"fencedPods": ["first-2"]},
    ),
    "hibernation": (healthy().cluster, "hibernate", "", {"hibernate": True}),
    "another CA": (healthy().cluster, "ca", NOW, {"tls": {"rotateCAAt": NOW}}),
    "another unseal key": (
        healthy().cluster, "unseal-key", NOW,
        {"unseal": {"static": {"currentKeyID": "20261126T120000Z"}}},
    ),
    "an upgrade": (healthy().cluster, "start", "2.7.3", {"version": "2.7.3"}),
    "a retry": (UPGRADING, "retry", NOW, {"upgrade": {"requests": {"retry": NOW}}}),
    "a promotion with a strategy": (
        {**UPGRADING, "spec": {**UPGRADING["spec"], "upgrade": {"strategy": "BlueGreen"}}},
        "promote", NOW,
        {"upgrade": {"strategy": "BlueGreen", "requests": {"promote": NOW}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("live", "verb", "argument", "fields"), WRITES.values(), ids=WRITES.keys())
def test_a_verb_changes_only_its_fields(
    live: Object, verb: str, argument: str, fields: dict[str, Any]
) -> None:
    spec = spec_after(live, verb, argument)
    assert {name: spec[name] for name in fields} == fields
    assert {name: item for name, item in spec.items() if name not in fields} == {
        name: item for name, item in live["spec"].items() if name not in fields
    }
    OpenBaoCluster.from_object({**live, "spec": spec})


@pytest.mark.parametrize("verb", EDITS)
def test_the_equivalent_for_kubectl_is_one_command(verb: str) -> None:
    words = shlex.split(as_kubectl(UPGRADING, edit_of(verb, UPGRADING, "first-2")))
    assert words[:5] == ["kubectl", "-n", "default", "patch", "openbaocluster"]
    assert list(json.loads(words[-1])) == ["spec"]


@pytest.mark.parametrize(
    ("verb", "spec"), [("pause", {"paused": True}), ("resume", {}), ("unfence", {}), ("wake", {})]
)
def test_a_spec_that_has_the_value_is_not_written(verb: str, spec: dict[str, Any]) -> None:
    live = with_spec(healthy(), **spec).cluster
    assert operations(live, edit_of(verb, live, "first-2")) == ()


# sentence: (cluster, verb, part of the error)
REFUSED: dict[str, tuple[Object, str, str]] = {
    "an upgrade of a cluster with an image": (
        with_spec(healthy(), image="registry.example.com/openbao:2.6.2").cluster, "start",
        "set spec.image and spec.version together",
    ),
    "a CA that the operator does not manage": (
        with_spec(healthy(), tls={"mode": "External"}).cluster, "ca", "spec.tls.mode External",
    ),
    "a key in a key service": (
        with_spec(healthy(), unseal={"type": "transit"}).cluster, "unseal-key",
        "rotate the key in its key service",
    ),
    "a key in a Secret of the user": (
        with_spec(healthy(), unseal={"credentialsSecretRef": {"name": "mine"}}).cluster,
        "unseal-key", "add a new key to it",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("live", "verb", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_field_that_the_operator_does_not_manage_is_refused(
    live: Object, verb: str, words: str
) -> None:
    with pytest.raises(VerbError, match=words) as raised:
        edit_of(verb, live, NOW)
    assert raised.value.exit_code == 4


def test_a_promotion_without_an_upgrade_and_an_edit_during_deletion_are_refused() -> None:
    going = {
        **healthy().cluster,
        "metadata": {**healthy().cluster["metadata"], "deletionTimestamp": NOW},
    }
    for live, verb in ((healthy().cluster, "promote"), (going, "pause")):
        with pytest.raises(VerbError) as raised:
            edit_of(verb, live, NOW)
        assert raised.value.exit_code == 4


async def test_a_verb_writes_once_and_prints_the_result(tmp_path: Path) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        dry = await baoctl("pause", "first", "--dry-run")
        unchanged = gen.present(server.get(CLUSTERS, KEY))
        paused = await baoctl("pause", "first")
        again = await baoctl("pause", "first")
        fenced = await baoctl("fence", "first-2")
        nobody = await baoctl("fence", "other-0")
        unconfirmed = await baoctl("hibernate", "first")
        refused = await baoctl("backup", "first")
        missing = await baoctl("restart", "other")
    assert "would be patched" in dry.stdout
    assert unchanged["spec"]["paused"] is False
    assert paused.stdout.splitlines()[1].startswith("kubectl -n default patch openbaocluster first")
    assert "unchanged" in again.stdout
    live = gen.present(server.get(CLUSTERS, KEY))
    assert (live["spec"]["paused"], live["spec"]["fencedPods"]) == (True, ["first-2"])
    assert not live["spec"].get("hibernate")
    codes = [result.exit_code for result in (fenced, nobody, unconfirmed, refused, missing)]
    assert codes == [0, 5, 1, 4, 5]


async def test_an_upgrade_is_started_once(tmp_path: Path) -> None:
    server = world()
    words = ("upgrade", "start", "first", "--to", "2.7.3")
    async with command_line(server, tmp_path) as baoctl:
        dry = await baoctl(*words, "--dry-run")
        before = gen.present(server.get(CLUSTERS, KEY))["spec"]["version"]
        started = await baoctl(*words)
        again = await baoctl(*words)
    assert "would be patched: the operator checks the upgrade to 2.7.3" in dry.stdout
    assert before != "2.7.3"
    assert gen.present(server.get(CLUSTERS, KEY))["spec"]["version"] == "2.7.3"
    assert started.stdout.splitlines()[1].endswith("""-p '{"spec":{"version":"2.7.3"}}'""")
    assert "unchanged" in again.stdout
    assert [result.exit_code for result in (dry, started, again)] == [0, 0, 0]


# sentence: (arguments, typed text, exit status, text of the output, whether the prompt is shown)
HIBERNATIONS: dict[str, tuple[tuple[str, ...], str, int, str, bool]] = {
    "confirmed": (("first",), "first\n", 0, "patched: all servers stop", True),
    "with another name": (("first",), "second\n", 2, "nothing was changed", True),
    "without an answer": (("first",), "", 1, "no answer: nothing was changed", True),
    "without a prompt": (("first", "--yes"), "", 0, "patched: all servers stop", False),
    "a trial": (("first", "--dry-run"), "", 0, "would be patched", False),
    "of a missing cluster": (("other",), "other\n", 5, "only first", False),
    "of a missing cluster, without a prompt": (("other", "-y"), "", 5, "only first", False),
}


@pytest.mark.parametrize(
    ("arguments", "typed", "status", "words", "prompt"),
    HIBERNATIONS.values(),
    ids=HIBERNATIONS.keys(),
)
async def test_hibernate_asks_for_confirmation(
    tmp_path: Path, arguments: tuple[str, ...], typed: str, status: int, words: str, prompt: bool
) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("hibernate", *arguments, typed=typed)
    assert (result.exit_code, words in result.output) == (status, True), result.output
    assert ("Type first to continue" in result.output) is prompt
    live = gen.present(server.get(CLUSTERS, KEY))
    assert live["spec"].get("hibernate", False) is ("patched: all" in words)


async def test_hibernate_asks_nothing_if_the_cluster_is_hibernated(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        await baoctl("hibernate", "first", "--yes")
        again = await baoctl("hibernate", "first")
    assert (again.exit_code, "unchanged" in again.stdout) == (0, True), again.output


# sentence: (arguments, typed text, exit status, whether the prompt is shown, whether it is written)
CLEANUPS: dict[str, tuple[tuple[str, ...], str, int, bool, bool]] = {
    "confirmed": ((), "first\n", 0, True, True),
    "with another name": ((), "second\n", 2, True, False),
    "without an answer": ((), "", 1, True, False),
    "without a prompt": (("--yes",), "", 0, False, True),
    "a trial": (("--dry-run",), "", 0, False, False),
}


@pytest.mark.parametrize(
    ("arguments", "typed", "status", "prompt", "written"), CLEANUPS.values(), ids=CLEANUPS.keys()
)
async def test_cleanup_asks_for_confirmation(
    tmp_path: Path,
    arguments: tuple[str, ...],
    typed: str,
    status: int,
    prompt: bool,
    written: bool,
) -> None:
    server = server_of([UPGRADING])
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("upgrade", "cleanup", "first", *arguments, typed=typed)
    assert result.exit_code == status, result.output
    assert ("a rollback becomes impossible. Type first" in result.output) is prompt
    live = gen.present(server.get(CLUSTERS, KEY))
    assert ("cleanup" in live["spec"].get("upgrade", {}).get("requests", {})) is written


async def test_cleanup_without_an_upgrade_is_refused_before_the_prompt(
    tmp_path: Path,
) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        result = await baoctl("upgrade", "cleanup", "first", typed="first\n")
    assert (result.exit_code, "Type first" in result.output) == (4, False), result.output


async def test_a_verb_asks_once_even_if_the_write_is_retried() -> None:
    server, names = world(), []

    def confirm(name: str) -> None:
        names.append(name)
        live = gen.present(server.get(CLUSTERS, KEY))
        server.put(CLUSTERS, {**live, "spec": {**live["spec"], "paused": True}})

    api = Session(client_of(FakeWire(server, random.Random(1))), SystemClock(), "default")
    result = await apply_edit(api, EditRequest("hibernate", "first"), confirm)
    assert (names, "patched" in result) == (["first"], True)
    live = gen.present(server.get(CLUSTERS, KEY))
    assert (live["spec"]["paused"], live["spec"]["hibernate"]) == (True, True)


async def test_backup_creates_an_openbaobackup(tmp_path: Path) -> None:
    server = world()
    live = with_spec(healthy(), backup={"schedule": "0 3 * * *"}).cluster
    server.put(CLUSTERS, {**live, "metadata": {"name": "first", "namespace": "default"}})
    async with command_line(server, tmp_path) as baoctl:
        done = await baoctl("backup", "first", "--no-wait")
        late = await baoctl("backup", "first", "--timeout", "1s")
    assert done.exit_code == 0, done.stderr
    assert late.exit_code in (3, 4)
    objects = server.objects(BACKUPS)
    assert {obj["spec"]["cluster"] for obj in objects} == {"first"}
    assert all(obj["metadata"]["name"].startswith("first-manual-") for obj in objects)


@pytest.mark.parametrize(
    "arguments",
    [
        ("pause", "first", "--for", "soon"),
        ("pause", "first", "--for", "0s"),
        ("pause", "first", "--for", "5m", "--dry-run"),
        ("backup", "first", "--timeout", "x"),
        ("completion", "powershell"),
    ],
)
def test_invalid_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, list(arguments))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


async def test_a_pause_with_a_duration_is_resumed(tmp_path: Path) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("pause", "first", "--for", "10ms")
    assert result.exit_code == 0, result.stderr
    live = gen.present(server.get(CLUSTERS, KEY))
    assert live["spec"]["paused"] is False
    assert [call.method for call in server.requests if call.method != "GET"] == ["PATCH", "PATCH"]


async def test_a_pause_that_cannot_be_resumed_is_reported(tmp_path: Path) -> None:
    faults = ScriptedFaults(None, Fault(FaultKind.INTERNAL), where="PATCH")
    async with command_line(world(), tmp_path, faults) as baoctl:
        result = await baoctl("pause", "first", "--for", "10ms")
    assert result.exit_code == 1
    assert "stays paused until baoctl resume first" in result.stderr
