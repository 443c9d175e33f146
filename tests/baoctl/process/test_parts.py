"""baoctl.process.parts: the imports of a standby, and its checks before the election."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from baoctl.process.preflight import kinds_of_leader
from baoctl.process.wiring import build_controllers
from tests.baoctl.process.process_settings import make_parts, settings

HEAVY: Final = {"croniter", "cryptography", "jinja2", "managers.cluster", "obstore", "pydantic"}
"""Modules that only a leader needs: half of the memory of a process."""
DATACENTERS: Final = {"contracts.datacenter.objects", "managers.datacenter"}
"""Modules that only an operator with datacenters needs."""
GENERATOR: Final = {"contracts.api.schema.crd", "contracts.datacenter.definitions"}
"""What builds the CRDs: 2 MB, and a tenth of a second of CPU time."""

MODES: Final[dict[str, dict[str, Any]]] = {
    "all clusters": {},
    "one namespace": {"namespaces": ("a",)},
    "a list of namespaces": {"namespaces": ("a", "b")},
    "datacenters": {"datacenters": True},
}


def test_a_standby_imports_nothing_that_only_a_leader_needs() -> None:
    modules = modules_after("import baoctl.process.run")
    assert "aiohttp" in modules
    assert not HEAVY & modules


def test_a_leader_imports_neither_datacenters_nor_the_generator_of_the_definitions() -> None:
    leader = modules_after("import baoctl.process.wiring")
    assert "managers.cluster" in leader
    assert not (DATACENTERS | GENERATOR) & leader
    assert modules_after("import baoctl.controllers.datacenter") >= DATACENTERS


def modules_after(program: str) -> set[str]:
    """Return the modules that a new interpreter has after a program."""
    command = [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"]
    return {*subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()}


@pytest.mark.parametrize("mode", MODES)
async def test_the_preflight_lists_what_a_leader_waits_for(tmp_path: Path, mode: str) -> None:
    parts = await make_parts(settings(tmp_path, **MODES[mode]))
    build_controllers(parts)
    informers = parts.informers._informers
    waited = {
        (selection.resource, selection.namespace)
        for selection, informer in informers.items()
        if not informer.optional
    }
    assert set(kinds_of_leader(parts.settings)) == waited
