"""The commands in the comments of each file of config/samples work."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from contracts.api.group import API_VERSION
from e2e.harness.samples import FILES, FOLDER, objects
from e2e.rig import Rig, RigError
from runtime.types import Object
from tests.integration.admission.people import People

# A sample that requires another one.
AFTER = {"restore.yaml": "backup.yaml"}


def dump(objects: list[Object]) -> str:
    return yaml.safe_dump_all(objects, sort_keys=False)


@pytest.fixture
def place(control_plane_with_crds: Rig, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file whose objects are deleted afterwards.

    Namespaces are kept: without a controller manager a deleted one stays Terminating.
    """
    file: Path = request.param
    before = objects((FOLDER / AFTER.get(file.name, file.name)).read_text())
    spaces = [obj for obj in before if obj["kind"] == "Namespace"]
    control_plane_with_crds.kubectl("apply", "-f", "-", input=dump(spaces))
    yield file
    rest = [obj for obj in objects(file.read_text()) if obj["kind"] != "Namespace"]
    control_plane_with_crds.kubectl(
        "delete", "--wait=false", "--ignore-not-found", "-f", "-", input=dump(rest)
    )


@pytest.mark.parametrize("place", FILES, ids=lambda file: file.name, indirect=True)
def test_it_is_accepted_without_a_warning(
    control_plane_with_crds: Rig, people: People, place: Path
) -> None:
    """kubectl sends each object separately, and refuses fields that the schema does not have."""
    assert people, "the policies are in force"
    kubectl = control_plane_with_crds.kubectl("apply", "--warnings-as-errors", "-f", str(place))
    assert len(kubectl.splitlines()) == len(objects(place.read_text()))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"replica": 1}, "unknown field"),
        ({"audit": [{"type": "syslog", "path": "x", "options": {"path": "/x"}}]}, "audit"),
    ],
    ids=["a field that is not there", "a value that a policy refuses"],
)
def test_a_wrong_sample_is_refused(
    control_plane_with_crds: Rig, people: People, wrong: Object, words: str
) -> None:
    assert people, "the policies are in force"
    spoiled = objects((FOLDER / "development.yaml").read_text())
    for obj in spoiled:
        if obj["apiVersion"] == API_VERSION:
            obj["spec"] |= wrong
    spaces = [obj for obj in spoiled if obj["kind"] == "Namespace"]
    control_plane_with_crds.kubectl("apply", "-f", "-", input=dump(spaces))
    with pytest.raises(RigError, match=words):
        control_plane_with_crds.kubectl(
            "apply", "--warnings-as-errors", "-f", "-", input=dump(spoiled)
        )
