"""Each sample: known fields only, no violated rule, and complete as a file."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from contracts.api.backup import OpenBaoBackup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import (
    API_VERSION,
    BACKUP_KIND,
    CLUSTER_KIND,
    RESTORE_KIND,
    TENANT_KIND,
)
from contracts.api.restore import OpenBaoRestore
from contracts.api.rules import cluster as cluster_rules
from contracts.api.rules.backup_object import snapshot_violations
from contracts.api.rules.restore import restore_violations
from contracts.api.rules.unsupported_fields import unserved_fields
from contracts.api.tenant import OpenBaoTenant
from contracts.api.violation import InvalidClusterError, Violation
from contracts.datacenter.kinds import DATACENTER_KIND, SERVICE_SET_KIND
from contracts.datacenter.objects import BootstrapServiceSet, Datacenter
from contracts.datacenter.rules.all_rules import datacenter_violations, set_violations
from e2e.harness.samples import FILES, FOLDER, objects
from e2e.rig.versions import OPENBAO_RELEASES
from runtime.types import Object
from tests.contracts.api.models import holds

Judge = Callable[[Any], Iterable[Violation]]
_KINDS: dict[str, tuple[Any, Judge]] = {
    CLUSTER_KIND: (OpenBaoCluster, cluster_rules.violations),
    BACKUP_KIND: (OpenBaoBackup, snapshot_violations),
    RESTORE_KIND: (OpenBaoRestore, restore_violations),
    TENANT_KIND: (OpenBaoTenant, lambda tenant: ()),
    DATACENTER_KIND: (Datacenter, datacenter_violations),
    SERVICE_SET_KIND: (BootstrapServiceSet, set_violations),
}
_LISTED = re.compile(r"^\| `([^`]+\.yaml)` \|", re.MULTILINE)
_LEVEL = "pod-security.kubernetes.io/enforce"
# It uses the objects of backup.yaml.
_CONTINUES = {"restore.yaml": "backup.yaml"}

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


def of_kind(file: Path, *kinds: str) -> list[Object]:
    return [obj for obj in objects(file.read_text()) if obj["kind"] in kinds]


def problems(obj: Object) -> list[str]:
    """The errors of an object of this API."""
    model, judge = _KINDS[obj["kind"]]
    try:
        read = model.from_object(obj)
    except InvalidClusterError as error:
        return [f"{violation.field}: {violation.message}" for violation in error.violations]
    lines = [f"{item.field}: {item.message}" for item in judge(read)]
    if not holds(read.spec.to_object(), obj["spec"]):
        lines.append("a field is unknown")
    if isinstance(read, OpenBaoCluster):
        lines += unserved_fields(read.spec)
    return lines


@each_file
def test_every_object_is_valid(file: Path) -> None:
    ours = [obj for obj in objects(file.read_text()) if obj["apiVersion"] == API_VERSION]
    assert ours
    assert [line for obj in ours for line in problems(obj)] == []


@pytest.mark.parametrize("wrong", [{"replica": 1}, {"reconcilePolicies": True}, {"audit": [{}]}])
def test_an_invalid_field_is_detected(wrong: Object) -> None:
    (sample,) = of_kind(FOLDER / "development.yaml", CLUSTER_KIND)
    assert problems(sample) == []
    assert problems({**sample, "spec": {**sample["spec"], **wrong}}) != []


@each_file
def test_clusters_run_the_newest_version(file: Path) -> None:
    for cluster in of_kind(file, CLUSTER_KIND):
        assert cluster["spec"]["version"] == OPENBAO_RELEASES[-1]


@each_file
def test_a_sample_has_a_restricted_namespace_for_its_objects(file: Path) -> None:
    source = FOLDER / _CONTINUES.get(file.name, file.name)
    spaces = of_kind(source, "Namespace")
    for space in spaces:
        assert space["metadata"]["labels"][_LEVEL] == "restricted"
    known = {space["metadata"]["name"] for space in spaces}
    used = {
        obj["metadata"]["namespace"]
        for obj in objects(file.read_text())
        if "namespace" in obj["metadata"] and obj["kind"] != TENANT_KIND
    }
    assert used <= known


def test_no_two_files_share_a_namespace() -> None:
    names = [space["metadata"]["name"] for file in FILES for space in of_kind(file, "Namespace")]
    assert len(names) == len(set(names))


def secret_names(value: Any) -> set[str]:
    """The Secrets that a spec names in its references."""
    if isinstance(value, list):
        return {name for item in value for name in secret_names(item)}
    if not isinstance(value, dict):
        return set()
    named = {
        item["name"]
        for key, item in value.items()
        if key.lower().endswith("secretref") and isinstance(item, dict)
    }
    named |= {item["name"] for item in value.get("imagePullSecrets") or ()}
    return named.union(*(secret_names(item) for item in value.values()))


@each_file
def test_a_sample_has_the_secrets_that_it_references(file: Path) -> None:
    source = FOLDER / _CONTINUES.get(file.name, file.name)
    there = {secret["metadata"]["name"] for secret in of_kind(source, "Secret")}
    named = {name for item in of_kind(file, *_KINDS) for name in secret_names(item["spec"])}
    assert named == (there if source == file else set())


@each_file
def test_secrets_contain_placeholders(file: Path) -> None:
    for secret in of_kind(file, "Secret"):
        assert "data" not in secret
        assert "-----BEGIN" not in str(secret["stringData"])


@each_file
def test_the_header_describes_the_sample_and_its_command(file: Path) -> None:
    lines = file.read_text().splitlines()
    head = [line[2:] for line in lines[: lines.index("apiVersion: " + first_version(lines))]]
    text = " ".join(line for line in head if not line.startswith("  "))
    assert 2 <= len(re.findall(r"\.(?: |$)", text)) <= 7, text
    commands = [line.strip() for line in head if line.startswith("  kubectl")]
    assert any(f"-f config/samples/{file.name}" in line for line in commands[:1])
    assert any("wait" in line for line in commands)


def first_version(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("apiVersion: ")).split()[1]


def test_the_readme_lists_each_file_once() -> None:
    matches = _LISTED.findall((FOLDER / "README.md").read_text())
    assert sorted(matches) == [file.name for file in FILES]
