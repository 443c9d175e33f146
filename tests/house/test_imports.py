"""The contracts of .importlinter: the checkout complies with them, and violations are reported.

All planted imports go into one copy of the real tree, and import-linter must name each.
"""

import configparser
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.checkout import LAYERS, ROOT

CONFIG = ".importlinter"
_SECTION = "importlinter:contract:"


@dataclass(frozen=True, slots=True)
class PlantedImport:
    """A forbidden import, and the text with which it is reported."""

    contract: str
    file: str
    line: str
    reported: str


PLANTED_IMPORTS = (
    PlantedImport(
        "layers",
        "contracts/naming/names.py",
        "import managers.bao",
        "contracts.naming.names -> managers.bao",
    ),
    PlantedImport(
        "layers", "managers/bao/client.py", "import baoctl.cli", "bao.client -> baoctl.cli"
    ),
    PlantedImport(
        "layers", "runtime/x.py", "def f():\n    import contracts", "runtime.x -> contracts"
    ),
    PlantedImport(
        "examples",
        "examples/__init__.py",
        "import contracts.naming.names",
        "examples is not allowed to import contracts",
    ),
    PlantedImport(
        "spine",
        "managers/certs/plan.py",
        "import managers.workload.plan",
        "managers.certs.plan -> managers.workload.plan",
    ),
    PlantedImport(
        "spine",
        "managers/bao/client.py",
        "import managers.membership.observe",
        "managers.bao.client -> managers.membership.observe",
    ),
    PlantedImport("spine", "managers/novelty/__init__.py", "", "novelty"),
    PlantedImport(
        "purity",
        "managers/workload/plan.py",
        "import random",
        "managers.workload.plan is not allowed to import random",
    ),
    PlantedImport(
        "purity",
        "managers/cluster/resolve/resolve.py",
        "from runtime.client.client import Client",
        "managers.cluster.resolve is not allowed to import runtime.client.client",
    ),
    PlantedImport(
        "purity",
        "contracts/naming/names.py",
        "import time",
        "contracts is not allowed to import time",
    ),
    PlantedImport(
        "purity",
        "managers/context/installation.py",
        "import asyncio",
        "managers.images.plan -> managers.context.installation",
    ),
    PlantedImport("http", "managers/certs/actions.py", "import aiohttp", "managers.certs.actions"),
    PlantedImport(
        "kubeconfig",
        "baoctl/process/wiring.py",
        "import kubernetes_asyncio",
        "baoctl.process.wiring",
    ),
    PlantedImport(
        "sigstore",
        "managers/images/tlog.py",
        "import sigstore",
        "managers.images.tlog",
    ),
    PlantedImport("system", "managers/context/context.py", "import os", "managers.context.context"),
    PlantedImport(
        "aids", "managers/context/context.py", "import runtime.testing.clock", "context.context"
    ),
    PlantedImport(
        "acyclic",
        "runtime/clock.py",
        "import runtime.client.client",
        "cycles are allowed in runtime",
    ),
)


def lint(folder: Path) -> tuple[int, str]:
    """Run import-linter on a tree; exit status and report."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [command, "--no-cache", "--no-logo", "--config", CONFIG],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    return done.returncode, done.stdout + done.stderr


def contracts() -> dict[str, str]:
    """The contracts of the configuration: key and name."""
    config = configparser.ConfigParser()
    config.read_string((ROOT / CONFIG).read_text(encoding="utf-8"))
    return {
        section.removeprefix(_SECTION): config[section]["name"]
        for section in config.sections()
        if section.startswith(_SECTION)
    }


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report about a copy of the layers that contains all planted imports."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / CONFIG, folder)
    for layer in (*LAYERS, "examples"):
        shutil.copytree(ROOT / layer, folder / layer, ignore=shutil.ignore_patterns("__pycache__"))
    for planted in PLANTED_IMPORTS:
        target = folder / planted.file
        target.parent.mkdir(exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            file.write(f"\n{planted.line}\n")
    status, report = lint(folder)
    assert status == 1
    return report


def test_the_checkout_complies_with_every_contract() -> None:
    status, report = lint(ROOT)
    if status != 0:
        pytest.fail(report, pytrace=False)


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(planted, id=f"{planted.contract}: {planted.reported}")
        for planted in PLANTED_IMPORTS
    ],
)
def test_a_planted_import_is_reported(report: str, planted: PlantedImport) -> None:
    name = contracts()[planted.contract]
    assert f"{name} BROKEN" in report
    # The section of this contract, and not that of another violated one.
    chapter = report.split(f"\n{name}\n---")[1].split("\n---")[0]
    assert planted.reported in chapter


def test_every_contract_has_a_planted_import() -> None:
    assert {planted.contract for planted in PLANTED_IMPORTS} == set(contracts())
