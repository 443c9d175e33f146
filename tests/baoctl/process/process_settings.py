"""Settings and parts of a process that has a kubeconfig."""

import dataclasses
from pathlib import Path
from typing import Any

from baoctl.controllers.components import Parts
from baoctl.process.parts import build_parts
from baoctl.settings import Settings, from_environment
from runtime.testing.clock import ManualClock
from tests.gen.kubeconfigs import kubeconfig


def settings(tmp_path: Path, server: str = "http://127.0.0.1:1", **changes: Any) -> Settings:
    file = kubeconfig(tmp_path, server, namespaces={"x": "ns"})
    return dataclasses.replace(from_environment({"KUBECONFIG": str(file)}), **changes)


async def make_parts(chosen: Settings) -> Parts:
    """The parts of a process; its clients are closed, because no test sends a request."""
    parts = await build_parts(chosen, ManualClock())
    await parts.client.close()
    await parts.lease_client.close()
    return parts
