"""Runs docs/getting-started.md from top to bottom in one shell, on a node without an operator.

Before the last step the section Failover of docs/day-2.md follows, which continues the page.
Only the images in `install.yaml` differ: they are those of the checkout and of the rig.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.demo.manifests import Installation, operator_objects
from e2e.harness.installation import NAMESPACE, install
from e2e.harness.kubernetes import Api
from e2e.harness.operator import IMAGE_REPOSITORY
from e2e.harness.overlays import remove_objects
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from release.manifests import IMAGE_NAME, Checkout, install_files
from runtime.builtin_kinds import POD

PAGE = REPOSITORY / "docs" / "getting-started.md"
DAY_2 = REPOSITORY / "docs" / "day-2.md"
OPERATORS = "app.kubernetes.io/name=openbao-operator"
COMMANDS = 15
# Ends the port-forwards with the shell.
PRELUDE = "set -eu -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"


def blocks(page: str) -> list[str]:
    """Return the shell commands of a page, one text per block."""
    return re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def section(page: str, heading: str) -> str:
    """Return the text of one section of a page, without its heading."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def commands(block: str) -> list[str]:
    """Return the commands of a block, each with its continuation lines and here document."""
    joined = block.replace("\\\n", " ")
    return re.sub(r"<<EOF\n.*?^EOF$", "", joined, flags=re.MULTILINE | re.DOTALL).splitlines()


@pytest.fixture
def folder(rig: Rig, api: Api, tmp_path: Path) -> Iterator[Path]:
    """A folder with install.yaml; afterwards the rig has its RBAC objects again, no operator."""
    checkout = Checkout(REPOSITORY, rig.bin("kubectl"))
    text = install_files(checkout, IMAGE_NAME, "any")["install.yaml"]
    installation = Installation(rig.load_operator_image(), "IfNotPresent", IMAGE_REPOSITORY)
    objects = operator_objects(text, installation)
    (tmp_path / "install.yaml").write_text(yaml.safe_dump_all(objects))
    yield tmp_path
    # The operators of later scenarios hold a token of the ServiceAccount.
    remove_objects(rig, objects, keep={"ServiceAccount"})
    until("the operator is gone", lambda: not api.list(POD, NAMESPACE, OPERATORS), 60.0)
    install(rig)


@pytest.mark.timeout(900)
def test_each_command_of_the_page_works_unchanged(rig: Rig, folder: Path) -> None:
    steps = blocks(PAGE.read_text(encoding="utf-8"))
    assert sum(len(commands(step)) for step in steps) == COMMANDS, "the page names this number"
    failover = blocks(section(DAY_2.read_text(encoding="utf-8"), "Failover"))
    assert failover
    steps[-1:-1] = failover
    marked = "".join(
        f'printf "\\n== %s s: step {number}\\n" "$SECONDS"\n{step}'
        for number, step in enumerate(steps, start=1)
    )
    done = subprocess.run(
        ["bash", "-c", PRELUDE + marked + 'printf "\\n== %s s: the end\\n" "$SECONDS"\n'],
        cwd=folder,
        env=rig.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=800,
    )
    print(f"\n{done.stdout}")
    assert done.returncode == 0
    assert done.stdout.count('"text":"hello"') == 2, "read before and after the loss of the leader"
    assert "openbaobackup.openbao.org/now condition met" in done.stdout
