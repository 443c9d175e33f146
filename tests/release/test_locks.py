"""What the image and kubectl-bao hold of the locked dependencies."""

import pytest

from tests.house.checkout import ROOT
from tests.house.papers import dependencies, pins, requirements

LEFT_OUT = {
    # A pod has no kubeconfig, and prints no tables.
    "image": {"kubernetes-asyncio", "rich"},
    # Only Jobs and the operator need them: object stores, and keyless signatures.
    "cli": {"obstore", "sigstore"},
}


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LEFT_OUT)
def test_it_holds_every_dependency_but_those_it_never_needs(name: str) -> None:
    needed, _ = dependencies(read("pyproject.toml"))
    assert {*needed} - {*requirements(read(f"requirements/{name}.in"))} == LEFT_OUT[name]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_it_holds_the_versions_that_are_tested(name: str) -> None:
    held = pins(read(f"requirements/{name}.txt"))
    assert held
    assert held.items() <= pins(read("requirements/runtime.txt")).items()
