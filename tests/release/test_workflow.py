"""The workflow of a release: its actions are pinned, and it uses the files of this repository."""

import re
from typing import Any

import yaml

from release.bundle.csv import PACKAGE
from release.checksums import FILE as CHECKSUMS
from release.main import NOTES
from release.sbom import FILE as SBOM
from tests.house.checkout import ROOT

_TEXT = (ROOT / ".github" / "workflows" / "release.yaml").read_text(encoding="utf-8")
_WORKFLOW: dict[str, Any] = yaml.safe_load(_TEXT)
_STEPS: list[dict[str, Any]] = _WORKFLOW["jobs"]["release"]["steps"]
_PINNED = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_every_action_is_pinned_to_a_commit() -> None:
    lines = [line.strip(" -") for line in _TEXT.splitlines() if "uses:" in line]
    assert lines
    assert [line for line in lines if _PINNED.fullmatch(line) is None] == []


def test_the_base_image_is_that_of_the_dockerfile() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f"ARG BASE={_WORKFLOW['env']['BASE_TAG']}\n" in dockerfile


def test_the_build_sets_every_argument_of_the_dockerfile() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (built,) = [step["with"] for step in _STEPS if "build-args" in step.get("with", {})]
    given = {line.partition("=")[0] for line in built["build-args"].splitlines()}
    assert given == set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
    assert built["platforms"] == "linux/amd64,linux/arm64"


def test_files_are_built_and_signed_before_publication() -> None:
    scripts = [step.get("run", "") or str(step["uses"]) for step in _STEPS]
    written = next(n for n, script in enumerate(scripts) if script.startswith("make release "))
    public = [
        n
        for n, script in enumerate(scripts)
        if "build-push" in script or "release create" in script
    ]
    assert written < min(public)
    everything = "\n".join(scripts)
    for name in (CHECKSUMS, NOTES, SBOM):
        assert f"dist/{name}" in everything


def test_the_bundle_is_built_from_the_release_archive() -> None:
    (script,) = [step["run"] for step in _STEPS if "bundle.Dockerfile" in step.get("run", "")]
    names = set(re.findall(r"/(openbao-operator-bundle-\$VERSION)", script))
    assert names == {f"{PACKAGE}-bundle-$VERSION"}


def test_scripts_contain_no_expressions() -> None:
    scripts = [step["run"] for step in _STEPS if "run" in step]
    assert not [script for script in scripts if "${{" in script]
