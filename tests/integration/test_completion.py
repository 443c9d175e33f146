"""The completion of `kubectl bao` by kubectl."""

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from baoctl.cli import main
from e2e.rig import Rig
from tests.contracts.api.clusters import cluster_object


def test_kubectl_completes_the_name_of_a_cluster(
    control_plane_with_crds: Rig, namespace: str, tmp_path: Path
) -> None:
    rig = control_plane_with_crds
    body = cluster_object("the-first")
    body["metadata"]["namespace"] = namespace
    rig.kubectl("create", "-f", "-", input=json.dumps(body))
    program = tmp_path / "kubectl_complete-bao"
    program.write_text(CliRunner().invoke(main, ["completion", "kubectl"]).stdout, encoding="utf-8")
    program.chmod(0o755)
    installed = Path(sys.executable).parent
    kubectl = subprocess.run(
        [str(rig.bin("kubectl")), "__complete", "bao", "status", "-n", namespace, "the"],
        env={**rig.environment(), "PATH": f"{tmp_path}:{installed}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert kubectl.stdout.splitlines() == ["the-first", ":4"]
