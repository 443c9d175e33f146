"""Plugins of pydantic in the environment of a user: a verb runs none of them by default."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.rig.paths import REPOSITORY


@pytest.mark.parametrize(("value", "runs"), [(None, False), ("another", True)])
def test_a_verb_runs_a_plugin_of_pydantic_only_if_a_user_permits_it(
    value: str | None, runs: bool, tmp_path: Path
) -> None:
    metadata = tmp_path / "plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: plugin\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pydantic]\nplugin = plugin:PLUGIN\n")
    (tmp_path / "plugin.py").write_text("PLUGIN = print('the plugin runs')")
    environ = {name: text for name, text in os.environ.items() if not name.startswith("PYDANTIC")}
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", "render", "-f", "config/samples/quickstart.yaml"],
        cwd=REPOSITORY,
        env={
            **environ,
            "PYTHONPATH": str(tmp_path),
            **({"PYDANTIC_DISABLE_PLUGINS": value} if value else {}),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ("the plugin runs" in done.stdout) is runs
    assert runs or done.returncode == 0
