"""The content key of a server: it changes with every input of the build."""

from dataclasses import replace
from pathlib import Path

import pytest

from e2e.rig.builds import Toolchain, go_version, key
from e2e.rig.versions import Server

SERVER = Server("x", "m", "example.com/x", "-X a=1")
TOOLS = Toolchain(Path("/go"), "go1.26.8", "linux/amd64")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "go.mod").write_text("module tools/m\n")
    (tmp_path / "go.sum").write_text("h1:one\n")
    return tmp_path


CHANGES = {
    "another package": (replace(SERVER, package="example.com/y"), TOOLS),
    "another stamp": (replace(SERVER, stamps="-X a=2"), TOOLS),
    "tags": (replace(SERVER, tags="hsm"), TOOLS),
    "cgo": (replace(SERVER, cgo=True), TOOLS),
    "another go": (SERVER, replace(TOOLS, version="go1.27.0")),
    "another platform": (SERVER, replace(TOOLS, platform="linux/arm64")),
}


@pytest.mark.parametrize("case", CHANGES)
def test_the_key_depends_on(case: str, module: Path) -> None:
    server, tools = CHANGES[case]
    assert key(server, module, tools) != key(SERVER, module, TOOLS)


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_the_key_depends_on_the_files_of_the_module(name: str, module: Path) -> None:
    before = key(SERVER, module, TOOLS)
    (module / name).write_text("something else\n")
    assert key(SERVER, module, TOOLS) != before


def test_the_key_is_independent_of_other_files(module: Path) -> None:
    before = key(SERVER, module, TOOLS)
    (module / "README.md").write_text("words\n")
    assert key(SERVER, module, replace(TOOLS, go=Path("/elsewhere/go"))) == before


VERSIONS = {"go1.26.8": (1, 26), "go1.27rc1": (1, 27), "go1.9": (1, 9), "devel +abc": None}


@pytest.mark.parametrize("text", VERSIONS)
def test_go_version(text: str) -> None:
    assert go_version(text) == VERSIONS[text]
