"""The locked dependencies of the image and of kubectl-bao."""

import pytest

from tests.house.checkout import ROOT
from tests.house.documents import dependencies, pins, requirements

LEFT_OUT = {
    # A pod has no kubeconfig, and prints no tables.
    "image": {"kubernetes-asyncio", "rich"},
    # Only Jobs and the operator need them: object stores, and keyless signatures.
    "cli": {"obstore", "sigstore"},
}


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_lock_file_has_all_required_dependencies(name: str) -> None:
    needed, _ = dependencies(read("pyproject.toml"))
    assert {*needed} - {*requirements(read(f"requirements/{name}.in"))} == LEFT_OUT[name]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_lock_file_has_the_tested_versions(name: str) -> None:
    held = pins(read(f"requirements/{name}.txt"))
    assert held
    assert held.items() <= pins(read("requirements/runtime.txt")).items()
