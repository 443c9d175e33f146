"""An upgrade of the operator restarts no server: what the release before made, made by this code.

`tests/golden/previous-release/*/children.yaml` were printed by the release before, from the
`cluster.yaml` beside them (`baoctl render --phase running`). When a release is made, print them
anew. What differs is declared in `differences.yaml`, with the reason and whether pods restart for
it; what is declared and does not differ fails, too.
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
    """What the pods of each StatefulSet are compared by."""
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
def test_the_children_are_those_of_the_release_before(folder: Path) -> None:
    declared = {
        (difference["case"], difference["object"], difference["path"])
        for difference in DECLARED
        if difference["case"] == folder.name
    }
    assert found_differences(folder) == declared


@pytest.mark.parametrize("folder", CASES, ids=lambda case: case.name)
def test_no_pod_restarts_for_what_is_not_declared_to_restart_it(folder: Path) -> None:
    restarts = {
        difference["object"].partition("/")[2]
        for difference in DECLARED
        if difference["case"] == folder.name and difference["restarts"]
    }
    old, new = digest(before(folder)), digest(now(folder))
    assert {name for name in old if old[name] != new[name]} == restarts
    assert old.keys() == new.keys()


@pytest.mark.parametrize("folder", CASES, ids=lambda case: case.name)
def test_a_statefulset_never_replaces_pods_by_itself(folder: Path) -> None:
    """Of the release before neither: then it could not roll while this one starts."""
    for obj in (before(folder), now(folder)):
        sets = [item for (kind, _), item in obj.items() if kind == "StatefulSet"]
        assert sets
        for item in sets:
            assert item["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_another_image_of_the_operator_is_no_reason_to_replace_a_pod() -> None:
    meant = gen.resolved(gen.cluster().initialized(), gen.world())
    newer = replace(meant, pod=replace(meant.pod, operator_image="operator:2"))
    assert newer.pod != meant.pod
    assert template_digest(newer, "restart") == template_digest(meant, "restart")


def test_every_difference_says_why() -> None:
    for difference in DECLARED:
        assert set(difference) == {"case", "object", "path", "reason", "restarts"}
        assert len(difference["reason"].split()) > 3
    assert CASES, "nothing is compared"


def test_a_difference_is_found() -> None:
    """The comparison itself: one that finds nothing would prove nothing."""
    old = {"spec": {"a": 1, "b": {"c": [1, 2]}}}
    assert [*differences(old, {"spec": {"a": 1, "b": {"c": [2, 1]}, "d": 0}})] == [
        "spec.b.c",
        "spec.d",
    ]
    assert [*differences(old, None)] == [""]
