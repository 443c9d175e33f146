"""An upgrade of the operator restarts no server: objects of the previous release and of this code.

`tests/golden/previous-release/*/children.yaml` were printed by the previous release, from the
`cluster.yaml` in the same folder (`baoctl render --phase running`). Print them again for each
release. `differences.yaml` declares the differences, with the reason and whether pods restart; a
declared difference that does not exist fails, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from baoctl.cli import main
from contracts.naming import labels
from managers.workload.objects.statefulset import template_digest
from tests import gen
from tests.house.checkout import ROOT

FOLDER = ROOT / "tests" / "golden" / "previous-release"
CASES = sorted(file.parent for file in FOLDER.glob("*/cluster.yaml"))
DECLARED: list[dict[str, Any]] = yaml.safe_load(
    (FOLDER / "differences.yaml").read_text(encoding="utf-8")
)["differences"]
INSTALLED = (
    *("--phase", "running"),
    *("--operator-namespace", "operators"),
    *("--image-repository", "registry.example.com/openbao"),
)
Objects = Mapping[tuple[str, str], dict[str, Any]]


def objects(text: str) -> Objects:
    results = [document for document in yaml.safe_load_all(text) if document]
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in results}


def before(folder: Path) -> Objects:
    return objects((folder / "children.yaml").read_text(encoding="utf-8"))


def now(folder: Path) -> Objects:
    file = str(folder / "cluster.yaml")
    done = CliRunner().invoke(main, ["render", *INSTALLED, "-f", file])
    assert done.exit_code == 0, done.output
    return objects(done.stdout)


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """The paths at which two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for field in sorted(old.keys() | new.keys()):
            yield from differences(old.get(field), new.get(field), f"{path}.{field}".lstrip("."))
    elif old != new:
        yield path


def digest(of: Objects, kind: str = "StatefulSet") -> dict[str, str]:
    """The digest of the pod template of each StatefulSet."""
    return {
        name: obj["spec"]["template"]["metadata"]["annotations"][labels.TEMPLATE_HASH]
        for (resource_kind, name), obj in of.items()
        if resource_kind == kind
    }


def found_differences(folder: Path) -> set[tuple[str, str, str]]:
    old, new = before(folder), now(folder)
    return {
        (folder.name, f"{kind}/{name}", path)
        for kind, name in old.keys() | new.keys()
        for path in differences(old.get((kind, name)), new.get((kind, name)))
    }


@pytest.mark.parametrize("folder", CASES, ids=lambda case: case.name)
def test_the_children_equal_those_of_the_previous_release(folder: Path) -> None:
    declared = {
        (difference["case"], difference["object"], difference["path"])
        for difference in DECLARED
        if difference["case"] == folder.name
    }
    assert found_differences(folder) == declared


@pytest.mark.parametrize("folder", CASES, ids=lambda case: case.name)
def test_only_declared_differences_restart_pods(folder: Path) -> None:
    restarts = {
        difference["object"].partition("/")[2]
        for difference in DECLARED
        if difference["case"] == folder.name and difference["restarts"]
    }
    old, new = digest(before(folder)), digest(now(folder))
    assert {name for name in old if old[name] != new[name]} == restarts
    assert old.keys() == new.keys()


@pytest.mark.parametrize("folder", CASES, ids=lambda case: case.name)
def test_stateful_sets_have_the_update_strategy_on_delete(folder: Path) -> None:
    """Also in the previous release: otherwise pods could roll while this release starts."""
    for obj in (before(folder), now(folder)):
        sets = [item for (kind, _), item in obj.items() if kind == "StatefulSet"]
        assert sets
        for item in sets:
            assert item["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_another_operator_image_does_not_replace_pods() -> None:
    meant = gen.resolved(gen.cluster().initialized(), gen.world())
    newer = replace(meant, pod=replace(meant.pod, operator_image="operator:2"))
    assert newer.pod != meant.pod
    assert template_digest(newer, "restart") == template_digest(meant, "restart")


def test_every_difference_has_a_reason() -> None:
    for difference in DECLARED:
        assert set(difference) == {"case", "object", "path", "reason", "restarts"}
        assert len(difference["reason"].split()) > 3
    assert CASES, "nothing is compared"


def test_a_difference_is_found() -> None:
    """The comparison itself works."""
    old = {"spec": {"a": 1, "b": {"c": [1, 2]}}}
    assert [*differences(old, {"spec": {"a": 1, "b": {"c": [2, 1]}, "d": 0}})] == [
        "spec.b.c",
        "spec.d",
    ]
    assert [*differences(old, None)] == [""]
