"""The verbs that only read: doctor, events, status, tree and version, with an API server."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from baoctl import __version__
from baoctl.commands.cluster.events import rows_of
from baoctl.commands.cluster.tree import node_of
from baoctl.commands.cluster.versions import versions_of
from contracts.api.group import CLUSTER_KIND
from runtime.leader.shard import group_identity, lease_of_shard, shard_of
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.types import Object, ObjectKey
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import keep, world
from tests.baoctl.commands.cluster.recorded_cluster import NOW, healthy, lease


async def test_doctor_sends_no_writes(tmp_path: Path) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("doctor", "first")
        as_json = await baoctl("doctor", "-A", "-o", "json")
        missing = await baoctl("doctor", "other")
        none = await baoctl("doctor", "-n", "empty")
    # The Lease of the recording is old compared to the clock of this machine.
    assert "1. The operator is down" in result.stdout
    assert "$ kubectl -n openbao-operator-system get deployment,pods" in result.stdout
    assert result.exit_code == as_json.exit_code == 3
    assert json.loads(as_json.stdout)[0]["findings"][0]["nextStep"]
    assert missing.exit_code == 5
    assert (none.exit_code, "no namespace empty" in none.stderr) == (0, True)
    assert {call.method for call in server.requests} == {"GET"}


async def test_doctor_reads_the_lease_of_the_shard_of_the_cluster(tmp_path: Path) -> None:
    server = world()
    key = ObjectKey("default", "first")
    silent = lease_of_shard("openbao-operator", shard_of(key, 3))
    for name, holder in (("openbao-operator", group_identity(3)), (silent, "a-process")):
        one = lease()
        one["metadata"]["name"] = name
        one["spec"]["holderIdentity"] = holder
        keep(server, one)
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("doctor", "first")
    # All Leases of the recording are old; the output names that of the shard.
    assert f"Lease {silent}: not renewed for" in result.stdout
    assert "Lease openbao-operator:" not in result.stdout


async def test_doctor_reads_the_last_minutes_of_the_log_of_a_ready_server(tmp_path: Path) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        await baoctl("doctor", "first")
    logs = [call for call in server.requests if call.path.endswith("/log")]
    assert logs
    assert {call.query.get("sinceSeconds") for call in logs} == {"120"}


async def test_a_watch_ends_if_its_first_read_fails(tmp_path: Path) -> None:
    faults = ScriptedFaults(Fault(FaultKind.INTERNAL))
    async with command_line(world(), tmp_path, faults) as baoctl:
        # A second read would end with status 5.
        result = await baoctl("status", "other", "--watch")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output


def event(name: str, ago: int, **more: object) -> Object:
    moment = (NOW - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"kind": "Pod", "name": name}
    return {"type": "Normal", "reason": "Started", "message": "x", "eventTime": moment,
            "involvedObject": about, **more}  # fmt: skip


def test_events_of_the_cluster_are_sorted_by_time() -> None:
    events = [
        event("first-0", 5),
        event("other-0", 4),
        event("data-first-1", 90, count=4),
        event("first", 3, series={"count": 7}),
    ]
    rows = rows_of("first", events, NOW)
    assert [(row.age, row.about, row.count) for row in rows] == [
        ("90s", "Pod/data-first-1", 4), ("5s", "Pod/first-0", 1), ("3s", "Pod/first", 7),
    ]  # fmt: skip


def test_the_tree_shows_objects_below_their_owners() -> None:
    owner = {"kind": "StatefulSet", "metadata": {"name": "first", "uid": "s"}}
    pod = {**healthy().pods[0], "kind": "Pod"}
    pod["metadata"] = {**pod["metadata"], "ownerReferences": [{"uid": "s"}]}
    lost = {"kind": "Job", "metadata": {"name": "j", "uid": "j", "ownerReferences": [{"uid": "?"}]}}
    root = node_of({**healthy().cluster, "kind": CLUSTER_KIND}, [pod, owner, lost], NOW)
    assert [(node.kind, [below.name for below in node.below]) for node in root.below] == [
        ("StatefulSet", ["first-0"]), ("Job", []),
    ]  # fmt: skip
    assert root.below[0].below[0].state == "ready"


async def test_the_tree_and_the_events_are_printed(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        tree = await baoctl("tree", "first")
        events = await baoctl("events", "first")
        version = await baoctl("version", "-A")
        client = await baoctl("version", "--client", "-o", "json")
    assert tree.stdout.splitlines()[0].startswith("OpenBaoCluster/first  3/3")
    assert "Pod/first-2  ready" in tree.stdout
    assert events.stdout == "No events. By default the API server deletes events after one hour.\n"
    assert "servers   default/first 2.7.2" in version.stdout
    assert json.loads(client.stdout)["client"] == __version__


def deployment(image: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"image": image}]}}}}


def test_a_version_skew_is_reported() -> None:
    same = versions_of(deployment(f"r.test:5000/op:{__version__}@sha256:a"), ())
    assert (same.operator, same.skew) == (__version__, "")
    assert "operator 99.1.0" in versions_of(deployment("r.test:5000/op:v99.1.0"), ()).skew.replace(
        "v", ""
    )
    assert versions_of(deployment("r.test:5000/op"), ()).operator == ""
