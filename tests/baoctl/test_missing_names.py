"""Missing names: a verb lists the existing ones, and reports a missing namespace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from runtime.builtin_kinds import NAMESPACE
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.server import FakeApiServer
from runtime.types import ObjectKey
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import server_of
from tests.baoctl.commands.cluster.recorded_cluster import healthy, job_pod, lease, with_spec
from tests.baoctl.commands.upgrade.dumps import NEW, dump


def world() -> FakeApiServer:
    """A cluster with a fenced server whose pod is gone, the pod of a Job, and two namespaces."""
    view = with_spec(healthy(), fencedPods=["first-3"])
    server = server_of([view.cluster, *view.pods, lease(), job_pod()])
    server.serve(Kind(NAMESPACE))
    for name in ("default", "empty"):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        server.put(NAMESPACE, body)
    return server


SERVERS = "only first-0, first-1, first-2, first-3; see baoctl status"
# sentence: (arguments, exit status, part of standard error)
MISSING: dict[str, tuple[tuple[str, ...], int, str]] = {
    "a plan for a missing cluster": (
        ("upgrade", "plan", "--cluster", "other", "--to", "2.7.3"), 5,
        "there is no OpenBaoCluster 'other' in namespace default, only first;",
    ),
    "a plan for no cluster, which is an argument": (
        ("upgrade", "plan", "empty/other", "--to", "2.7.3"), 5,
        "there is no OpenBaoCluster 'other' in namespace empty",
    ),
    "a plan for two names": (
        ("upgrade", "plan", "first", "--cluster", "first", "--to", "2.7.3"), 2,
        "CLUSTER and --cluster are mutually exclusive",
    ),
    "an upgrade of no cluster": (
        ("upgrade", "start", "other", "--to", "2.7.3"), 5,
        "there is no OpenBaoCluster 'other' in namespace default, only first;",
    ),
    "an upgrade to no version": (
        ("upgrade", "start", "first", "--to", "banana"), 2,
        "'banana': must be a version of OpenBao, MAJOR.MINOR.PATCH, as in 2.7.2",
    ),
    "a pause without a unit": (
        ("pause", "first", "--for", "30"), 2,
        "--for: '30': must be a duration of h, m and s, as in 90s, 30m or 1h30m",
    ),
    "a plan in another namespace": (
        ("upgrade", "plan", "--cluster", "empty/first", "--to", "2.7.3"), 5,
        "there is no OpenBaoCluster 'first' in namespace empty, which has none;",
    ),
    "a plan in two namespaces": (
        ("upgrade", "plan", "--cluster", "empty/first", "-n", "default", "--to", "2.7.3"), 2,
        "and -n default are different namespaces",
    ),
    "a plan for an invalid name": (
        ("upgrade", "plan", "--cluster", "", "--to", "2.7.3"), 2, "must be NAME or NAMESPACE/NAME",
    ),
    "a plan for an empty name": (
        ("upgrade", "plan", "--cluster", "default/", "--to", "2.7.3"), 2,
        "must be NAME or NAMESPACE/NAME",
    ),
    "a fence of a missing server": (
        ("fence", "other-0"), 5, f"'other-0' is not a server in namespace default, {SERVERS}",
    ),
    "an unfence of a missing server": (("unfence", "other-0"), 5, SERVERS),
    "a fence of the pod of a Job": (("fence", "first-backup-x"), 5, SERVERS),
    "a fence without servers": (
        ("fence", "x", "-n", "empty"), 5, "in namespace empty, which has none;",
    ),
    "a fence in a missing namespace": (
        ("fence", "x", "-n", "nosuch"), 5, "in namespace nosuch, which does not exist;",
    ),
    "a cluster in a missing namespace": (
        ("doctor", "first", "-n", "nosuch"), 5,
        "there is no OpenBaoCluster 'first' in namespace nosuch, which does not exist;",
    ),
    "a name in all namespaces": (
        ("status", "first", "-A"), 2, "CLUSTER and -A are mutually exclusive",
    ),
    "a diagnosis in all namespaces": (("doctor", "first", "-A"), 2, "mutually exclusive"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "words"), MISSING.values(), ids=MISSING.keys())
async def test_a_missing_name_is_reported(
    arguments: tuple[str, ...], status: int, words: str, tmp_path: Path
) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (status, "", 1), (
        result.output
    )
    assert words in result.stderr
    live = server.get(CLUSTERS, ObjectKey("default", "first"))
    assert live is not None
    assert live["spec"]["fencedPods"] == ["first-3"]


EMPTY = "There is no cluster in namespace empty. "
NOSUCH = "There is no namespace nosuch. Choose a namespace with -n, or use -A.\n"


@pytest.mark.parametrize("verb", ["status", "doctor"])
async def test_an_empty_list_is_reported_on_standard_error(verb: str, tmp_path: Path) -> None:
    """As kubectl does: the output for programs is empty, and the exit status 0."""
    async with command_line(world(), tmp_path) as baoctl:
        empty = await baoctl(verb, "-n", "empty")
        nosuch = await baoctl(verb, "-n", "nosuch")
        structured = await baoctl(verb, "-n", "nosuch", "-o", "json")
    assert (empty.exit_code, empty.stdout, empty.stderr.startswith(EMPTY)) == (0, "", True)
    assert (nosuch.exit_code, nosuch.stdout, nosuch.stderr) == (0, "", NOSUCH)
    assert (structured.exit_code, json.loads(structured.stdout), structured.stderr) == (
        0, [], NOSUCH,
    )  # fmt: skip


async def test_the_versions_in_a_missing_namespace(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        nosuch = await baoctl("version", "-n", "nosuch")
        empty = await baoctl("version", "-n", "empty")
    assert (nosuch.exit_code, nosuch.stderr) == (0, NOSUCH)
    assert nosuch.stdout.startswith("client")
    assert (empty.exit_code, empty.stderr) == (0, "")


async def test_an_unreadable_namespace_is_not_reported_as_missing(tmp_path: Path) -> None:
    faults = ScriptedFaults(Fault(FaultKind.INTERNAL), where="GET /api/v1/namespaces/nosuch")
    async with command_line(world(), tmp_path, faults) as baoctl:
        result = await baoctl("status", "-n", "nosuch")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("There is no cluster in namespace nosuch. ")


async def test_the_namespace_is_not_read_if_there_are_clusters(tmp_path: Path) -> None:
    server = world()
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("status")
    assert result.stdout.startswith("NAME")
    assert len(server.requests) == 1


async def test_a_cluster_of_a_dump_needs_no_namespace(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        plan = ("upgrade", "plan", "-f", "-", "--to", NEW, "--cluster")
        named = await baoctl(*plan, "x", typed=dump())
        missing = await baoctl(*plan, "y", typed=dump())
    assert named.exit_code == 0, named.stderr
    assert (missing.exit_code, "only ns/x" in missing.stderr) == (5, True)
