"""The verbs with the rights of a role: what they show, and which missing rights they name."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from baoctl.commands.cluster.rights import MissingRight, rights_text, unread_text
from runtime.testing.api_server.faults import Fault, FaultKind, ScriptedFaults
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import world
from tests.baoctl.roles import KUBERNETES_VIEW, OPERATOR_VIEW, RoleOf

OPERATOR_ONLY = RoleOf(OPERATOR_VIEW)
BOTH = RoleOf((*OPERATOR_VIEW, *KUBERNETES_VIEW))
NO_ROLE = RoleOf(())
OF_PODS = (
    "list persistentvolumeclaims, list pods, list statefulsets.apps in namespace default "
    "(ClusterRole view)"
)
OF_OPERATOR = (
    "get deployments.apps in namespace openbao-operator-system (ClusterRole view); "
    "get leases.coordination.k8s.io in namespace openbao-operator-system"
)


def read_archive(path: Path, name: str) -> bytes:
    with tarfile.open(path) as archive:
        file = archive.extractfile(name)
        assert file is not None
        return file.read()


def by_name(rights: list[dict[str, str]]) -> list[list[str]]:
    return sorted(sorted(right.values()) for right in rights)


def one_line(text: str) -> str:
    return " ".join(text.split())


async def test_status_with_the_role_of_the_operator_shows_a_part_of_the_screen(
    tmp_path: Path,
) -> None:
    async with command_line(world(), tmp_path, OPERATOR_ONLY) as baoctl:
        status = await baoctl("status", "first")
        as_json = await baoctl("status", "first", "-o", "json")
        clusters = await baoctl("status")
    assert [status.exit_code, as_json.exit_code, clusters.exit_code] == [0, 0, 0]
    assert "default/first  Ready  3/3" in status.stdout
    assert "The server pods cannot be read." in status.stdout
    assert f"Missing rights: {OF_PODS}" in one_line(status.stdout)
    assert {"namespace": "default", "verb": "list", "resource": "pods"} in (
        json.loads(as_json.stdout)["missingRights"]
    )
    assert "first" in clusters.stdout


async def test_doctor_with_the_role_of_the_operator_lists_skipped_checks(
    tmp_path: Path,
) -> None:
    async with command_line(world(), tmp_path, OPERATOR_ONLY) as baoctl:
        result = await baoctl("doctor", "first")
    output = one_line(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Not examined, because it cannot be read: " in output
    assert "list events, list persistentvolumeclaims, list pods" in output
    assert "list secrets in namespace default;" in output
    assert OF_OPERATOR in output
    assert "list validatingadmissionpolicies.admissionregistration.k8s.io" in output
    assert "in the whole cluster" in output


async def test_doctor_names_the_right_for_the_logs(tmp_path: Path) -> None:
    view = [{**rule, "resources": {*rule["resources"]} - {"pods/log"}} for rule in KUBERNETES_VIEW]
    async with command_line(world(), tmp_path, RoleOf((*OPERATOR_VIEW, *view))) as baoctl:
        result = await baoctl("doctor", "first", "-o", "json")
    (report,) = json.loads(result.stdout)
    assert report["denied"].count("logs") == 1
    assert [right["resource"] for right in report["missingRights"]].count("pods/log") == 1


async def test_an_archive_names_the_same_missing_rights_as_doctor(tmp_path: Path) -> None:
    target = tmp_path / "first.tar.gz"
    async with command_line(world(), tmp_path, OPERATOR_ONLY) as baoctl:
        doctor = await baoctl("doctor", "first", "-o", "json")
        bundle = await baoctl("bundle", "first", "-f", str(target))
    assert bundle.exit_code == 0, bundle.output
    assert 'cannot list resource "pods"' in bundle.stdout
    (printed,) = json.loads(doctor.stdout)
    kept = json.loads(read_archive(target, "first/doctor.json"))
    assert kept["missingRights"]
    assert by_name(kept["missingRights"]) == by_name(printed["missingRights"])


async def test_tree_with_the_role_of_the_operator_shows_the_cluster(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path, OPERATOR_ONLY) as baoctl:
        result = await baoctl("tree", "first")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("OpenBaoCluster/first")
    assert "list roles.rbac.authorization.k8s.io, list secrets" in one_line(result.stdout)


async def test_version_with_the_role_of_the_operator_names_the_right(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path, OPERATOR_ONLY) as baoctl:
        result = await baoctl("version")
    assert result.exit_code == 0
    assert "operator  unknown; missing right: get deployments.apps in namespace" in result.stdout
    assert "servers   default/first 2.7.2" in result.stdout


@pytest.mark.parametrize(
    ("role", "words", "right"),
    [
        (OPERATOR_ONLY, ("events", "first"), 'cannot list resource "events"'),
        (OPERATOR_ONLY, ("pause", "first"), 'cannot patch resource "openbaoclusters"'),
        (OPERATOR_ONLY, ("status", "-A"), "at the cluster scope"),
        (NO_ROLE, ("status", "first"), 'cannot get resource "openbaoclusters"'),
        (NO_ROLE, ("doctor",), 'cannot list resource "openbaoclusters"'),
    ],
)
async def test_a_verb_without_any_right_reports_the_right(
    tmp_path: Path, role: RoleOf, words: tuple[str, ...], right: str
) -> None:
    async with command_line(world(), tmp_path, role) as baoctl:
        result = await baoctl(*words)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (6, "", 1)
    assert right in result.stderr
    assert "request this right" in result.stderr


@pytest.mark.parametrize("words", [("status", "first"), ("status",), ("events", "first")])
async def test_the_view_role_of_kubernetes_grants_the_missing_rights(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    async with command_line(world(), tmp_path, BOTH) as baoctl:
        result = await baoctl(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "cannot be read" not in result.stdout


async def test_a_read_that_fails_for_another_reason_is_not_a_missing_right(tmp_path: Path) -> None:
    faults = ScriptedFaults(*[Fault(FaultKind.INTERNAL)] * 9, where="/statefulsets")
    async with command_line(world(), tmp_path, faults) as baoctl:
        result = await baoctl("status", "first")
    assert "cannot be read: statefulsets" in result.stdout
    assert "Missing rights" not in result.stdout


def test_rights_are_grouped_by_namespace_and_role() -> None:
    rights = [
        MissingRight("b", "list", "pods"),
        MissingRight("", "list", "nodes"),
        MissingRight("b", "get", "secrets"),
        MissingRight("b", "get", "pods/log"),
        MissingRight("b", "list", "pods"),
    ]
    assert rights_text(rights) == (
        "list nodes in the whole cluster; "
        "get pods/log, list pods in namespace b (ClusterRole view); "
        "get secrets in namespace b"
    )
    assert unread_text("Not shown", (), ()) == ""
